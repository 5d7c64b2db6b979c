// Counts allocations by standing in for malloc: a symbol of the executable wins over the C library's, for every
// shared library too. Only the benchmark executable links this file.

#include "allocation_counter.h"

#include <errno.h>
#if defined(__linux__)
#include <malloc.h>
#endif
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DOCDB_SANITIZED 1
#endif
#endif

#if defined(__linux__) && defined(__GLIBC__) && !defined(DOCDB_SANITIZED)

static _Atomic bool counting;
static _Atomic int64_t count;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static inline void note(void) {
    if (__builtin_expect(atomic_load_explicit(&counting, memory_order_relaxed), false)) {
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    }
}

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    note();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    note();
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    note();
    void *result = __libc_memalign(alignment, size);
    if (result == NULL) return ENOMEM;
    *memory = result;
    return 0;
}

bool docdb_allocation_counter_works(void) { return true; }

void docdb_allocation_counter_start(void) {
    atomic_store(&count, 0);
    atomic_store(&counting, true);
}

int64_t docdb_allocation_counter_stop(void) {
    atomic_store(&counting, false);
    return atomic_load(&count);
}

void docdb_allocation_counter_trim(void) { malloc_trim(0); }

#else

bool docdb_allocation_counter_works(void) { return false; }
void docdb_allocation_counter_start(void) {}
int64_t docdb_allocation_counter_stop(void) { return 0; }
void docdb_allocation_counter_trim(void) {}

#endif
