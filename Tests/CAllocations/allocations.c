// Stands in front of glibc's allocator, which exports itself under these names too. A sanitizer
// stands there itself; then nothing is counted.
#define _GNU_SOURCE
#include "allocations.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED

bool allocations_are_counted(void) { return false; }

unsigned long allocations_of_this_thread(void) { return 0; }

#else

#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static _Thread_local unsigned long count __attribute__((tls_model("initial-exec")));

bool allocations_are_counted(void) { return true; }

unsigned long allocations_of_this_thread(void) { return count; }

void *malloc(size_t size) {
    count++;
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count++;
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    count++;
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    count++;
    *result = __libc_memalign(alignment, size);
    return *result == NULL ? ENOMEM : 0;
}

#endif

// Stands in front of Swift's runtime likewise, for the code of this program: it calls what the program itself exports.
// Elsewhere than on x86-64 these functions may have to keep more registers than C functions do.
#if defined(__x86_64__) && !defined(SANITIZED)

#include <dlfcn.h>
#include <stdint.h>

static _Thread_local unsigned long references __attribute__((tls_model("initial-exec")));

// Libraries may call before constructors of the program have run, so each is looked up when it is first called.
#define NEXT(type, name) \
    static _Atomic(type) next; \
    type call = next; \
    if (call == NULL) next = call = (type)dlsym(RTLD_NEXT, name);

// What is no address is not counted: nothing, and what the runtime keeps in place of an object.
#define COUNT(object) references += (intptr_t)(object) > 0

typedef void *(*retain)(void *);
typedef void *(*retain_n)(void *, uint32_t);
typedef void (*release)(void *);
typedef void (*release_n)(void *, uint32_t);

void *swift_retain(void *object) {
    NEXT(retain, "swift_retain")
    COUNT(object);
    return call(object);
}

void *swift_retain_n(void *object, uint32_t number) {
    NEXT(retain_n, "swift_retain_n")
    COUNT(object);
    return call(object, number);
}

void swift_release(void *object) {
    NEXT(release, "swift_release")
    COUNT(object);
    call(object);
}

void swift_release_n(void *object, uint32_t number) {
    NEXT(release_n, "swift_release_n")
    COUNT(object);
    call(object, number);
}

bool references_are_counted(void) { return true; }

unsigned long references_of_this_thread(void) { return references; }

#else

bool references_are_counted(void) { return false; }

unsigned long references_of_this_thread(void) { return 0; }

#endif
