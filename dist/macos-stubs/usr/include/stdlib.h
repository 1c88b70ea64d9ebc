// The functions of macOS's <stdlib.h> that C code in our dependencies calls.
#pragma once
#include <stddef.h>
__attribute__((noreturn)) void abort(void);
__attribute__((noreturn)) void exit(int status);
void *malloc(size_t bytes);
void *calloc(size_t items, size_t bytes);
void *realloc(void *memory, size_t bytes);
void free(void *memory);
char *getenv(const char *name);
void qsort(void *items, size_t count, size_t bytes, int (*compare)(const void *, const void *));
void qsort_r(void *items, size_t count, size_t bytes, void *context, int (*compare)(void *, const void *, const void *));
