/*
 * early_malloc.c
 *	  Wakes a preloaded AddressSanitizer before any other library's constructor runs.
 *
 * It wakes with the first malloc, and then looks for a symbol that is not there, whose
 * error message libc translates.  When that malloc is one of libc's own, made by
 * bindtextdomain under the lock that translations take (libgpg-error's constructor does
 * that), the program waits for itself for ever.
 *
 * Link it with -Wl,-z,initfirst and preload it behind libasan.so.
 */
#include <stdlib.h>

static void __attribute__((constructor))
wake(void)
{
	free(malloc(1));
}
