// The functions of macOS's <stdio.h> that C code in our dependencies calls.
#pragma once
#include <stddef.h>
typedef struct __sFILE FILE;
extern FILE *__stderrp;
#define stderr __stderrp
int fflush(FILE *file);
size_t fwrite(const void *items, size_t bytes, size_t count, FILE *file);
__attribute__((format(printf, 2, 3))) int fprintf(FILE *file, const char *format, ...);
