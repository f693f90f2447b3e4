// memfd_create(2) and file seals need the extension macro.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <sys/mman.h>
#include <systemd/sd-daemon.h>
// The caller's place in the source is not sent: the messages' own fields say more.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
