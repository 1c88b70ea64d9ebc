// The functions of macOS's <string.h> that C code in our dependencies calls.
#pragma once
#include <stddef.h>
void *memchr(const void *bytes, int byte, size_t length);
int memcmp(const void *a, const void *b, size_t length);
void *memcpy(void *to, const void *from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int byte, size_t length);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
