// A command's keeper: a small process between the command and this one, that ends the command when this one ends,
// however that is. Only the kernel is asked from fork(2) on, and nothing is allocated: this process has threads.
//
// The kernel's parent-death signal would follow the thread that started the command, and threads of a pool end.
#ifndef STATEMACHINE_KEEPER_H
#define STATEMACHINE_KEEPER_H

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Hidden without _GNU_SOURCE: the first word of this process's command line, where the kernel put it.
extern char *_Nonnull program_invocation_name;

// What a keeper says once, in a packet.
enum platform_kept_news { PLATFORM_KEPT_ENDED, PLATFORM_KEPT_NOT_STARTED, PLATFORM_KEPT_LEFT };
struct platform_kept_packet {
    enum platform_kept_news news;
    // Of waitpid(2); the error; nothing.
    int value;
};

// A process as /proc shows it.
struct platform_process {
    char state;
    pid_t parent, session;
};

// How often what has not ended is looked for: sooner if a child of the keeper ends.
enum { PLATFORM_SHORTEST_LOOK = 20, PLATFORM_LONGEST_LOOK = 500 };
// How long after SIGKILL what is still there counts as something that cannot be killed: the kernel takes milliseconds.
enum { PLATFORM_KILL_BOUND = 2000 };

static inline long platform_kept_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline void platform_kept_say(int channel, enum platform_kept_news news, int value) {
    struct platform_kept_packet packet = {news, value};
    // Fails where nobody is left to hear it.
    send(channel, &packet, sizeof packet, MSG_NOSIGNAL);
}

// Looks at a process; 0 if it has gone, or cannot be seen.
static inline int platform_look_at(pid_t pid, struct platform_process *_Nonnull process) {
    char path[32] = "/proc/", text[512], digits[12];
    int length = 0, end = 6;
    for (pid_t rest = pid; rest > 0; rest /= 10) digits[length++] = '0' + rest % 10;
    while (length > 0) path[end++] = digits[--length];
    memcpy(path + end, "/stat", 6);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    text[count > 0 ? count : 0] = 0;
    // The name stands in parentheses and may contain anything: state, parent, group and session come after it.
    const char *next = strrchr(text, ')');
    if (!next || next[1] != ' ') return 0;
    process->state = next[2];
    next += 3;
    int numbers[3] = {0, 0, 0};
    for (int at = 0; at < 3; at++) {
        while (*next == ' ') next++;
        for (; *next >= '0' && *next <= '9'; next++) numbers[at] = numbers[at] * 10 + (*next - '0');
    }
    process->parent = numbers[0];
    process->session = numbers[2];
    return 1;
}

// Whether a process came of the keeper's command: what its own parent has left is the keeper's.
static inline int platform_is_of_keeper(pid_t keeper, pid_t pid) {
    struct platform_process process;
    if (!platform_look_at(pid, &process)) return 0;
    pid_t ancestor = process.parent;
    // 256: deeper than anything that is meant.
    for (int steps = 0; steps < 256 && ancestor > 1 && ancestor != keeper; steps++) {
        // One that has gone meanwhile has left its children to another.
        if (!platform_look_at(ancestor, &process) && !platform_look_at(pid, &process)) return 0;
        ancestor = process.parent;
    }
    return ancestor == keeper;
}

// Sends a signal to the keeper's command, unless that is 0, and to all that came of it and has not begun a session of
// its own; how many there are.
static inline int platform_signal_kept(pid_t keeper, pid_t command, int signal) {
    // As the kernel's getdents64(2) has it.
    struct entry { uint64_t inode; int64_t offset; unsigned short length; unsigned char type; char name[]; };
    _Alignas(struct entry) char entries[8192];
    struct platform_process process;
    pid_t session = getsid(0);
    int count = command > 0, directory = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // One that is stopped would not act on it.
    if (command > 0) kill(command, signal), kill(command, SIGCONT);
    if (directory < 0) return count;
    long size;
    while ((size = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0) {
        const struct entry *next;
        for (long at = 0; at < size; at += next->length) {
            next = (const struct entry *)(entries + at);
            pid_t pid = 0;
            for (const char *digit = next->name; *digit >= '0' && *digit <= '9'; digit++) pid = pid * 10 + (*digit - '0');
            if (pid <= 1 || pid == keeper || pid == command || !platform_look_at(pid, &process)) continue;
            if (process.state == 'Z' || process.session != session || !platform_is_of_keeper(keeper, pid)) continue;
            count++;
            kill(pid, signal);
            kill(pid, SIGCONT);
        }
    }
    close(directory);
    return count;
}

// Gives the keeper a name of its own, so that who ends programs by name or by words does not end both.
static inline void platform_name_keeper(void) {
    static const char name[] = "command-keeper";
    prctl(PR_SET_NAME, name);
    char bytes[512];
    size_t length = 0;
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    for (ssize_t count; file >= 0 && (count = read(file, bytes, sizeof bytes)) > 0;) length += count;
    if (file >= 0) close(file);
    if (length < sizeof name) return;
    memset(program_invocation_name, 0, length);
    memcpy(program_invocation_name, name, sizeof name);
}

// Closes all descriptors but those two.
static inline void platform_close_all_but(int one, int other) {
    int low = one < other ? one : other, high = one < other ? other : one;
    for (int descriptor = 0; descriptor < low; descriptor++) close(descriptor);
    for (int descriptor = low + 1; descriptor < high; descriptor++) close(descriptor);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, high + 1, ~0U, 0U) == 0) return;
#endif
    for (int descriptor = high + 1; descriptor < 65536; descriptor++) close(descriptor);
}

// Becomes the command, with no signal blocked and none ignored; ends with the keeper, if that is killed.
_Noreturn static inline void platform_become_kept(
    pid_t keeper, int channel, const char *_Nonnull program, char *_Nullable const *_Nonnull words,
    char *_Nullable const *_Nonnull environment, const int *_Nonnull standard
) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(127);
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (standard[descriptor] >= 0 && dup2(standard[descriptor], descriptor) < 0) _exit(127);
    }
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction usual;
        memset(&usual, 0, sizeof usual);
        usual.sa_handler = SIG_DFL;
        sigaction(signal, &usual, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(program, words, environment);
    platform_kept_say(channel, PLATFORM_KEPT_NOT_STARTED, errno);
    _exit(127);
}

// Takes what the keeper is told: a signal for the command, or a descriptor to be kept in place of `held`.
//
// Returns the signal, 0 if there is none, or -1 if nobody is left to tell it anything.
static inline int platform_hear(int channel, int *_Nonnull held) {
    unsigned char byte = 0;
    union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control,
    };
    ssize_t count = recvmsg(channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (count == 0) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS) {
        if (*held >= 0) close(*held);
        memcpy(held, CMSG_DATA(header), sizeof *held);
    }
    return byte;
}

// The keeper's life, from when the command has begun: it ends as soon as the command does, or, where it has to end the
// command, when nothing is left of it. Until then `held` stays open.
_Noreturn static inline void platform_keep(pid_t command, int channel, int held, int grace) {
    pid_t keeper = getpid(), pid;
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    platform_close_all_but(channel, held < 0 ? channel : held);
    platform_name_keeper();
    int children = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
    int status = 0, end = 0, is_ending = 0, is_told = 0, look = PLATFORM_SHORTEST_LOOK;
    long begun = 0;
    while (1) {
        struct pollfd wishes[2] = {{is_ending ? -1 : channel, POLLIN, 0}, {children, POLLIN, 0}};
        struct signalfd_siginfo child;
        poll(wishes, 2, is_ending || children < 0 ? look : -1);
        while (read(children, &child, sizeof child) > 0) continue;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            if (pid != command) continue;
            end = status;
            command = 0;
        }
        if (is_ending) {
            long late = platform_kept_now() - begun - grace;
            if (platform_signal_kept(keeper, command, late < 0 ? 0 : SIGKILL) == 0) break;
            if (late >= PLATFORM_KILL_BOUND && !is_told) {
                platform_kept_say(channel, PLATFORM_KEPT_LEFT, 0);
                is_told = 1;
            }
            look = late >= 0 && !is_told ? PLATFORM_SHORTEST_LOOK : look < PLATFORM_LONGEST_LOOK / 2 ? look * 2 : PLATFORM_LONGEST_LOOK;
            if (late < 0 && -late < look) look = (int)-late;
        } else if (command == 0) {
            break;
        } else {
            int signal = platform_hear(channel, &held);
            if (signal > 0) kill(command, signal);
            if (signal >= 0) continue;
            is_ending = 1;
            begun = platform_kept_now();
            platform_signal_kept(keeper, command, SIGTERM);
        }
    }
    platform_kept_say(channel, PLATFORM_KEPT_ENDED, end);
    _exit(0);
}

// Starts a program with its keeper, and no signal blocked or ignored; 0, or the error.
//
// `standard` has three descriptors, -1 for this process's own. `channel` is the end of a socket by which the keeper is told of
// signals and descriptors and says, in one packet, how the command ended or why it did not begin; when nobody has
// that end any more, or it is shut down, the keeper ends the command: by SIGTERM, and after `grace` milliseconds by
// SIGKILL. `held`, if it is no -1, stays open in the keeper as long as the command or its descendants live.
static inline int platform_start_kept(
    pid_t *_Nonnull keeper, int *_Nonnull channel, const char *_Nonnull program,
    char *_Nullable const *_Nonnull words, char *_Nullable const *_Nonnull environment,
    const int *_Nonnull standard, int held, int grace
) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    sigset_t all, before;
    sigfillset(&all);
    // A handler of this process's is not to run in the others.
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *keeper = fork();
    int error = *keeper < 0 ? errno : 0;
    if (*keeper == 0) {
        pid_t own = getpid();
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        pid_t command = fork();
        if (command == 0) platform_become_kept(own, ends[1], program, words, environment, standard);
        if (command < 0) {
            platform_kept_say(ends[1], PLATFORM_KEPT_NOT_STARTED, errno);
            _exit(127);
        }
        platform_keep(command, ends[1], held, grace);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (error) close(ends[0]); else *channel = ends[0];
    return error;
}

// Tells a keeper which signal its command is to get.
static inline void platform_signal_by_keeper(int channel, int signal) {
    unsigned char byte = (unsigned char)signal;
    send(channel, &byte, 1, MSG_NOSIGNAL);
}

// Gives a keeper a descriptor to be kept open in place of the one that it has.
static inline void platform_give_to_keeper(int channel, int descriptor) {
    unsigned char byte = 0;
    union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control;
    memset(&control, 0, sizeof control);
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control,
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    sendmsg(channel, &message, MSG_NOSIGNAL);
}

// Waits for what a keeper says; 0 if it has ended without a word, as one that is killed does.
static inline int platform_hear_keeper(int channel, struct platform_kept_packet *_Nonnull packet) {
    ssize_t count;
    // A keeper that ends with something unread resets the connection, which is told before what it has said.
    do count = recv(channel, packet, sizeof *packet, 0);
    while (count < 0 && (errno == EINTR || errno == ECONNRESET));
    return count == (ssize_t)sizeof *packet;
}
#endif

#endif
