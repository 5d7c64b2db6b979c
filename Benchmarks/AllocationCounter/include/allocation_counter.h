#ifndef DOCDB_ALLOCATION_COUNTER_H
#define DOCDB_ALLOCATION_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// Whether allocations can be counted here: on Linux with the GNU C library, without a sanitizer.
bool docdb_allocation_counter_works(void);

/// Sets the count to zero and counts from now on, over all threads.
void docdb_allocation_counter_start(void);

/// Stops counting and returns the count.
int64_t docdb_allocation_counter_stop(void);

/// Gives the memory that is allocated no longer back to the system, where that can be asked for.
void docdb_allocation_counter_trim(void);

#endif
