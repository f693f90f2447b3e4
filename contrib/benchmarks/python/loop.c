// What a client costs that does nothing but the system calls: `get`, over and over, on one connection.
//
//     loop SOCKET COUNT        prints nanoseconds a call
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 3) return 64;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) return perror(argv[1]), 1;
    static const char request[] = "{\"op\":\"get\"}\n";
    static char answer[1 << 16];
    long count = atol(argv[2]);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < count; i++) {
        if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) < 0) return perror("send"), 1;
        ssize_t had = 0;
        do {
            ssize_t got = recv(fd, answer + had, sizeof answer - (size_t)had, 0);
            if (got <= 0) return perror("recv"), 1;
            had += got;
        } while (answer[had - 1] != '\n');
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.0f\n", ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)count);
}
