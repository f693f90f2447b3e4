#include <poll.h>
#include <sys/eventfd.h>
