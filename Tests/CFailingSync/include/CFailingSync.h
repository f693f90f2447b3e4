#ifndef C_FAILING_SYNC_H
#define C_FAILING_SYNC_H

/// Has SQLite's syncs of files in directories called `failing-sync` fail where that is asked for; once for a process.
void failing_sync_register(void);

/// How many of the next syncs fail; all of them if it is negative.
void failing_sync_fail(int count);

#endif
