// What the core and the protocol ask of the C library, whichever it is: Glibc, musl or Darwin's. Where they differ, the
// difference is here; Swift's own modules of them have different names, and leave some of it out.
#ifndef STATEMACHINE_PLATFORM_H
#define STATEMACHINE_PLATFORM_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/xattr.h>
// Hidden without _GNU_SOURCE, with which other modules' types would be others.
extern int pthread_setname_np(pthread_t, const char *);
#else
#include <fcntl.h>
#include <sys/event.h>
#endif

// The kind of mutex that waits awake for a moment before it sleeps, where there is one.
static inline int platform_mutex_kind(void) {
#ifdef __GLIBC__
    return PTHREAD_MUTEX_ADAPTIVE_NP;
#else
    return PTHREAD_MUTEX_NORMAL;
#endif
}

// Begins a thread that nobody waits for; 0, or the error.
static inline int platform_start_thread(void *_Nullable (*_Nonnull body)(void *_Nullable), void *_Nonnull argument) {
    pthread_t thread;
    int error = pthread_create(&thread, 0, (void *(*)(void *))body, argument);
    return error ? error : pthread_detach(thread);
}

// What the kernel is to show the calling thread as.
static inline void platform_name_thread(const char *_Nonnull name) {
#ifdef __linux__
    pthread_setname_np(pthread_self(), name);
#else
    pthread_setname_np(name);
#endif
}

// Makes the calling thread give way to all others of the process: `steps` nicer, and never preempting on a wake-up.
// Where the system does not allow it, it stays as it is.
static inline void platform_give_way(int steps) {
#ifdef __linux__
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {.size = sizeof attributes, .policy = 3 /* SCHED_BATCH, hidden without _GNU_SOURCE */};
    int nice = getpriority(PRIO_PROCESS, 0) + steps;
    attributes.nice = nice < 19 ? nice : 19;
    // By this call and not by setpriority(2), which the service's unit keeps from Dispatch.
    syscall(SYS_sched_setattr, 0, &attributes, 0);
#endif
}

// The calling thread, to be compared with others.
static inline uintptr_t platform_thread(void) { return (uintptr_t)pthread_self(); }

// How many processors the calling thread may run on; 0 if that cannot be told.
static inline int platform_processors(void) {
#ifdef __linux__
    unsigned long set[128];
    // Fails where there are more processors than the set has room for.
    long size = syscall(SYS_sched_getaffinity, 0, sizeof set, set);
    int count = 0;
    for (long word = 0; word < size / (long)sizeof *set; word++) count += __builtin_popcountl(set[word]);
    return count;
#else
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (int)count : 0;
#endif
}

// A descriptor that is readable from when it is rung until it is quieted; -1 with errno if there is none.
static inline int platform_bell(void) {
#ifdef __linux__
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
#else
    int bell = kqueue();
    struct kevent event;
    EV_SET(&event, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, 0);
    if (bell >= 0 && (fcntl(bell, F_SETFD, FD_CLOEXEC) != 0 || kevent(bell, &event, 1, 0, 0, 0) != 0)) {
        close(bell);
        return -1;
    }
    return bell;
#endif
}

static inline void platform_ring(int bell) {
#ifdef __linux__
    // A counter that is full says EAGAIN, and is as readable as one that is not.
    eventfd_write(bell, 1);
#else
    struct kevent event;
    EV_SET(&event, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, 0);
    kevent(bell, &event, 1, 0, 0, 0);
#endif
}

static inline void platform_quiet(int bell) {
#ifdef __linux__
    eventfd_t count;
    eventfd_read(bell, &count);
#else
    struct kevent event;
    struct timespec now = {0, 0};
    kevent(bell, 0, 0, &event, 1, &now);
#endif
}

static inline int platform_errno(void) { return errno; }

// A Unix stream socket that does not block and is closed on exec; -1 with errno if there is none.
static inline int platform_stream_socket(void) {
#ifdef __linux__
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#else
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (descriptor >= 0) {
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        fcntl(descriptor, F_SETFL, O_NONBLOCK);
    }
    return descriptor;
#endif
}

// The address of a Unix socket; 0 with errno if the path does not fit.
static inline int platform_address(const char *_Nonnull path, struct sockaddr_un *_Nonnull address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return 0;
    }
    strcpy(address->sun_path, path);
    return 1;
}

static inline int platform_bind(int descriptor, const char *_Nonnull path) {
    struct sockaddr_un address;
    if (!platform_address(path, &address)) return -1;
    return bind(descriptor, (struct sockaddr *)&address, sizeof address);
}

static inline int platform_connect(int descriptor, const char *_Nonnull path) {
    struct sockaddr_un address;
    if (!platform_address(path, &address)) return -1;
    return connect(descriptor, (struct sockaddr *)&address, sizeof address);
}

#ifdef __linux__
// open(2)'s flag for a descriptor that only stands for what has the path; Glibc hides it without _GNU_SOURCE.
static inline int platform_path_only(void) { return 010000000; }

// Whether a path has no access control list: acl(5).
static inline int platform_has_no_list(const char *_Nonnull path) {
    return getxattr(path, "system.posix_acl_access", 0, 0) < 0 && (errno == ENODATA || errno == EOPNOTSUPP);
}
#endif

#endif
