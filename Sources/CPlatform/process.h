// Starting other programs, as far as Swift's modules of the C library leave it out.
#ifndef STATEMACHINE_PROCESS_H
#define STATEMACHINE_PROCESS_H

#ifdef __linux__
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

// Hidden without _GNU_SOURCE, with which other modules' types would be others.
extern int posix_spawn_file_actions_addfchdir_np(posix_spawn_file_actions_t *_Nonnull, int);
#ifdef __GLIBC__
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *_Nonnull, int);
#endif

// Starts a program with no signal blocked and none ignored; 0, or the error.
//
// `directory`, `input` and `errors` are descriptors, -1 for this process's own directory, standard input and error.
// With `closes_others` it has the standard descriptors alone, even where a library left others to be inherited.
static inline int platform_spawn(
    pid_t *_Nonnull pid, const char *_Nonnull program, char *_Nullable const *_Nonnull words,
    char *_Nullable const *_Nonnull environment, int directory, int input, int errors, int in_own_session,
    int closes_others
) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
#ifdef POSIX_SPAWN_SETSID
    if (in_own_session) flags |= POSIX_SPAWN_SETSID;
#else
    if (in_own_session) flags |= 0x80;
#endif
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setflags(&attributes, flags);
        // A descriptor that is duplicated to itself stays open: posix_spawn(3).
        if (input >= 0) error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
        if (!error && errors >= 0) error = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
        if (!error && directory >= 0) error = posix_spawn_file_actions_addfchdir_np(&actions, directory);
#ifdef __GLIBC__
        if (!error && closes_others) error = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
#endif
        if (!error) error = posix_spawn(pid, program, &actions, &attributes, words, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

// Opens a directory, which one need not be allowed to list; -1 with errno if that fails.
static inline int platform_open_directory(const char *_Nonnull path) {
    // O_PATH, hidden like the others.
    return open(path, 010000000 | O_DIRECTORY | O_CLOEXEC);
}

// A file in memory, which no other program inherits; -1 with errno if there is none.
static inline int platform_memory_file(const char *_Nonnull name) {
    // MFD_CLOEXEC, hidden like the others.
    return (int)syscall(SYS_memfd_create, name, 1U);
}

// Has no program that is started inherit what is open from that descriptor on.
static inline void platform_keep_descriptors(int first) {
#ifdef SYS_close_range
    // CLOSE_RANGE_CLOEXEC; kernels before 5.11 do not know it.
    if (syscall(SYS_close_range, first, ~0U, 4U) == 0) return;
#endif
    for (int descriptor = first; descriptor < 1024; descriptor++) {
        int flags = fcntl(descriptor, F_GETFD);
        if (flags >= 0) fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
    }
}
#endif

#endif
