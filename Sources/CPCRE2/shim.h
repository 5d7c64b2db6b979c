#ifndef DOCDB_CPCRE2_SHIM_H
#define DOCDB_CPCRE2_SHIM_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

// PCRE2's names are macros over the code unit width, which Swift's importer does not see; its sizes and error codes are macros with casts.

/// A compiled pattern with what matching it needs, allocated once.
typedef struct docdb_regex {
    pcre2_code *code;
    pcre2_match_context *context;
    pcre2_match_data *data;
} docdb_regex;

static inline void docdb_regex_free(docdb_regex regex) {
    pcre2_match_data_free(regex.data);
    pcre2_match_context_free(regex.context);
    pcre2_code_free(regex.code);
}

/// What a match may still spend, and where its last step was.
typedef struct docdb_regex_budget {
    uint64_t left;
    size_t position;
} docdb_regex_budget;

// Called before each item of the pattern is tried, again after each return to it. PCRE2's own match limit counts anew
// from each place of the subject, so that it does not bound the whole.
static inline int docdb_regex_count_step(pcre2_callout_block *block, void *data) {
    docdb_regex_budget *budget = (docdb_regex_budget *)data;
    size_t position = block->current_position;
    size_t distance = position > budget->position ? position - budget->position : budget->position - position;
    uint64_t cost = 1 + distance / 64;
    budget->position = position;
    if (cost > budget->left) {
        budget->left = 0;
        return PCRE2_ERROR_MATCHLIMIT;
    }
    budget->left -= cost;
    return 0;
}

/// Compiles a UTF-8 pattern. Returns 0, or PCRE2's error code with the offset in bytes.
static inline int docdb_regex_compile(const unsigned char *pattern, size_t count, uint32_t match_limit,
                                      uint32_t depth_limit, uint32_t heap_kibibytes, docdb_regex *regex,
                                      size_t *offset) {
    int code = 0;
    PCRE2_SIZE position = 0;
    uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
    regex->code = pcre2_compile(pattern, count, options, &code, &position, NULL);
    regex->context = NULL;
    regex->data = NULL;
    *offset = position;
    if (regex->code == NULL) return code == 0 ? PCRE2_ERROR_INTERNAL : code;
    regex->context = pcre2_match_context_create(NULL);
    // One pair of offsets: only whether the pattern matches is asked.
    regex->data = pcre2_match_data_create(1, NULL);
    if (regex->context == NULL || regex->data == NULL) {
        docdb_regex_free(*regex);
        regex->code = NULL;
        return PCRE2_ERROR_NOMEMORY;
    }
    pcre2_set_match_limit(regex->context, match_limit);
    pcre2_set_depth_limit(regex->context, depth_limit);
    pcre2_set_heap_limit(regex->context, heap_kibibytes);
    return 0;
}

/// Looks for the pattern in a subject, in at most *steps steps, from which those taken are subtracted. Returns 1 where
/// it is found, 0 where not, -1 where a limit was reached, -2 where the subject is not UTF-8.
static inline int docdb_regex_search(docdb_regex regex, const unsigned char *subject, size_t count, uint64_t *steps) {
    docdb_regex_budget budget = {*steps, 0};
    pcre2_set_callout(regex.context, docdb_regex_count_step, &budget);
    int result = pcre2_match(regex.code, subject, count, 0, 0, regex.data, regex.context);
    pcre2_set_callout(regex.context, NULL, NULL);
    *steps = budget.left;
    if (result >= 0) return 1;
    if (result == PCRE2_ERROR_NOMATCH) return 0;
    if (result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21) return -2;
    return -1;
}

#endif
