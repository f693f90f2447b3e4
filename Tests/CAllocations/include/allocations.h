#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stdbool.h>

/// False under a sanitizer, which has an allocator of its own.
bool allocations_are_counted(void);

/// How often this thread has asked the allocator for memory so far.
unsigned long allocations_of_this_thread(void);

/// False under a sanitizer, and elsewhere than on x86-64.
bool references_are_counted(void);

/// How many retains and releases of objects this program's own code has made on this thread so far.
unsigned long references_of_this_thread(void);

#endif
