/*
 * hold_lock.c
 *	  Holds gpusort's shared lock in one session while others plan and execute.
 *
 * In:  a session that calls hold_gpusort_lock(file), and the file, which a test makes.
 * Out: the lock is held exclusively until the file is there.
 *
 *	  create function hold_gpusort_lock(file cstring) returns bool language c as '.../hold_lock';
 *
 * False: nobody has made the file.
 */
#include "postgres.h"

#include <unistd.h>

#include "fmgr.h"
#include "storage/lwlock.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(hold_gpusort_lock);

#define LOOK_EVERY_US	10000
#define LOOKS_AT_MOST	9000

Datum
hold_gpusort_lock(PG_FUNCTION_ARGS)
{
	LWLock	   *lock = &GetNamedLWLockTranche("gpusort")->lock;
	bool		made = false;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	for (int i = 0; i < LOOKS_AT_MOST && !made; i++)
	{
		pg_usleep(LOOK_EVERY_US);
		made = access(PG_GETARG_CSTRING(0), F_OK) == 0;
	}
	LWLockRelease(lock);
	PG_RETURN_BOOL(made);
}
