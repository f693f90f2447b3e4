// Counts what the calling thread allocates.
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

// Allocations that the calling thread has made so far: malloc, calloc, realloc and the aligned ones.
unsigned long allocations_of_this_thread(void);

#endif
