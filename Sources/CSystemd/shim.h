// Memory seals as fcntl(2) and memfd_create(2) have them on Linux. Their headers show them only under
// _GNU_SOURCE, and that would make types of the system, fd_set for one, others than in Swift's own
// module of the C library, which the compiler refuses where it comes upon both.
#include <linux/memfd.h>
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#define F_SEAL_SEAL 0x0001
#define F_SEAL_SHRINK 0x0002
#define F_SEAL_GROW 0x0004
#define F_SEAL_WRITE 0x0008
int memfd_create(const char *name, unsigned int flags);
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
// The caller's place in the source is not sent: the messages' own fields say more.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
