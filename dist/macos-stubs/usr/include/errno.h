// The part of macOS's <errno.h> that C code in our dependencies uses.
#pragma once
int *__error(void);
#define errno (*__error())
