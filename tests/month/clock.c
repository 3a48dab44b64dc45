/* A clock that stands until somebody moves it, for programs that preload this library.

   Time of day and waiting for it go by a page that all programs share (MOVED_CLOCK names its file); whoever moves the
   clock sets `now`, and wakes those whose time has come (clock.py). Elapsed time (CLOCK_MONOTONIC) and waiting for
   anything else (poll, select) are as ever. Sleeps of less than a tenth of a second are real ones of at most a
   millisecond; those of up to a second add up until they make one. The clock does not stop for those who wait for
   some seconds again and again: they wake when it stops for another; so do all of a program with MOVED_CLOCK_LATE.
   When a program with MOVED_CLOCK_EVENT wakes, something happens, after which the clock goes slowly. And nobody waits
   40 ms for TCP to acknowledge half a message, which would be seconds of the clock. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define OFTEN (6 * SECOND) /* more than the 5 s after which slurmctld saves its state */
#define SLOTS 4096
#define WAITS 256

/* One who waits. The layout is that of clock.py. */
struct slot {
	_Atomic int64_t until; /* INT64_MAX: for nothing now */
	_Atomic int64_t stop;  /* when the clock stops for it; INT64_MAX: never */
	_Atomic int32_t thread; /* 0: nobody */
	_Atomic uint32_t woken;
	_Atomic int32_t event;
	int32_t spare;
};

struct page {
	_Atomic int64_t now;
	int64_t spare[7];
	struct slot slots[SLOTS];
};

static struct page *page;
static int late, event;
static int (*real_nanosleep)(const struct timespec *, struct timespec *);
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_cond_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*real_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void)
{
	real_nanosleep = dlsym(RTLD_NEXT, "nanosleep");
	real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	real_cond_wait = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
	real_cond_timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
	const char *path = getenv("MOVED_CLOCK");
	int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (file < 0)
		return;
	void *found = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (found != MAP_FAILED)
		page = found;
	late = getenv("MOVED_CLOCK_LATE") != NULL;
	event = getenv("MOVED_CLOCK_EVENT") != NULL;
}

/* When the clock stops for one who begins to wait: a moment is no time that anybody waits for again and again. */
static int64_t stop(int64_t until)
{
	int64_t length = until - page->now;
	return late || (length >= SECOND / 10 && length <= OFTEN) ? INT64_MAX : until;
}

static int64_t in_ns(const struct timespec *time) { return time->tv_sec * SECOND + time->tv_nsec; }

static struct timespec from_ns(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
}

static struct slot *take(int64_t until)
{
	int32_t me = (int32_t)syscall(SYS_gettid);
	for (unsigned first = (unsigned)me % SLOTS, i = first;; i = (i + 1) % SLOTS) {
		int32_t nobody = 0;
		if (atomic_compare_exchange_strong(&page->slots[i].thread, &nobody, me)) {
			page->slots[i].woken = 0;
			page->slots[i].event = event;
			page->slots[i].stop = stop(until);
			page->slots[i].until = until;
			return &page->slots[i];
		}
		if ((i + 1) % SLOTS == first)
			abort(); /* more than there are slots wait */
	}
}

static void leave(struct slot *slot)
{
	slot->until = slot->stop = INT64_MAX;
	slot->thread = 0;
}

/* Wait; -1 if a signal came first. */
static int wait_until(int64_t until)
{
	if (page->now >= until)
		return 0;
	struct slot *slot = take(until);
	int result = 0;
	while (page->now < until && result == 0)
		if (syscall(SYS_futex, &slot->woken, FUTEX_WAIT, 0, NULL, NULL, 0) == -1 && errno == EINTR)
			result = -1;
		else
			slot->woken = 0;
	leave(slot);
	if (result)
		errno = EINTR;
	return result;
}

/* ---- what time it is --------------------------------------------------------------------------------------- */

time_t time(time_t *out)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	(void)zone;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	out->tv_sec = now.tv_sec;
	out->tv_usec = now.tv_nsec / 1000;
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	if (!page || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return real_clock_gettime ? real_clock_gettime(clock, out) : (int)syscall(SYS_clock_gettime, clock, out);
	*out = from_ns(page->now);
	return 0;
}

/* ---- sleeping ---------------------------------------------------------------------------------------------- */

static int sleep_for(int64_t ns)
{
	static _Thread_local int64_t mine; /* the time that short sleeps have brought this thread to */
	if (ns < SECOND / 10) {
		struct timespec nap = from_ns(ns < SECOND / 1000 ? ns : SECOND / 1000);
		return real_nanosleep(&nap, NULL);
	}
	int64_t now = page->now;
	if (ns >= SECOND)
		return wait_until(now + ns);
	mine = (mine < now ? now : mine) + ns;
	return mine - now < SECOND ? 0 : wait_until(mine);
}

int nanosleep(const struct timespec *asked, struct timespec *left)
{
	if (!page)
		return real_nanosleep(asked, left);
	int64_t end = page->now + in_ns(asked);
	int result = sleep_for(in_ns(asked));
	if (result && left)
		*left = from_ns(end > page->now ? end - page->now : 0);
	return result;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *asked, struct timespec *left)
{
	if (!page)
		return (int)syscall(SYS_clock_nanosleep, clock, flags, asked, left) ? errno : 0;
	if (!(flags & TIMER_ABSTIME))
		return nanosleep(asked, left) ? errno : 0;
	if (clock != CLOCK_REALTIME)
		return (int)syscall(SYS_clock_nanosleep, clock, flags, asked, left) ? errno : 0;
	return wait_until(in_ns(asked)) ? errno : 0;
}

unsigned sleep(unsigned seconds)
{
	struct timespec asked = {.tv_sec = seconds}, left = {0};
	return nanosleep(&asked, &left) ? (unsigned)left.tv_sec : 0;
}

int usleep(useconds_t us)
{
	struct timespec asked = from_ns(us * 1000LL);
	return nanosleep(&asked, NULL);
}

/* ---- conditions that are waited for until a time ------------------------------------------------------------ */

/* Those of this process. A thread of ours wakes whose time has come, and again until they have noticed. */
static struct {
	pthread_mutex_t lock;
	pid_t process;
	struct slot *slot;
	struct { pthread_cond_t *cond; int64_t until, stop; } waits[WAITS];
} here = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *wake(void *unused)
{
	(void)unused;
	for (;;) {
		int64_t first = INT64_MAX, first_stop = INT64_MAX;
		int due = 0;
		pthread_mutex_lock(&here.lock);
		here.slot->woken = 0;
		for (int i = 0; i < WAITS; i++) {
			if (!here.waits[i].cond)
				continue;
			if (here.waits[i].until <= page->now) {
				pthread_cond_broadcast(here.waits[i].cond);
				due = 1;
				continue;
			}
			if (here.waits[i].until < first)
				first = here.waits[i].until;
			if (here.waits[i].stop < first_stop)
				first_stop = here.waits[i].stop;
		}
		here.slot->stop = first_stop;
		here.slot->until = first;
		due |= first <= page->now;
		pthread_mutex_unlock(&here.lock);
		if (due) {
			struct timespec nap = {.tv_nsec = 200000};
			real_nanosleep(&nap, NULL);
		} else
			syscall(SYS_futex, &here.slot->woken, FUTEX_WAIT, 0, NULL, NULL, 0);
	}
	return NULL;
}

static int add(pthread_cond_t *cond, int64_t until)
{
	int found = -1;
	pthread_mutex_lock(&here.lock);
	if (here.process != getpid()) { /* none yet, or a parent's */
		here.process = getpid();
		for (int i = 0; i < WAITS; i++)
			here.waits[i].cond = NULL;
		here.slot = take(INT64_MAX);
		pthread_t thread;
		if (pthread_create(&thread, NULL, wake, NULL) == 0)
			pthread_detach(thread);
	}
	for (int i = 0; i < WAITS && found < 0; i++)
		if (!here.waits[i].cond)
			found = i;
	if (found < 0)
		abort(); /* more wait at once than there is room for */
	here.waits[found].cond = cond;
	here.waits[found].until = until;
	here.waits[found].stop = stop(until);
	if (here.waits[found].stop < here.slot->stop)
		here.slot->stop = here.waits[found].stop;
	if (until < here.slot->until)
		here.slot->until = until;
	pthread_mutex_unlock(&here.lock);
	return found;
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
			   const struct timespec *restrict abstime)
{
	if (!page)
		return real_cond_timedwait(cond, mutex, abstime);
	int64_t until = in_ns(abstime);
	if (page->now >= until)
		return ETIMEDOUT;
	int wait = add(cond, until);
	int result = page->now >= until ? 0 : real_cond_wait(cond, mutex);
	pthread_mutex_lock(&here.lock);
	here.waits[wait].cond = NULL;
	pthread_mutex_unlock(&here.lock);
	return result ? result : page->now >= until ? ETIMEDOUT : 0;
}

/* ---- messages ---------------------------------------------------------------------------------------------- */

int socket(int domain, int type, int protocol)
{
	int made = (int)syscall(SYS_socket, domain, type, protocol), yes = 1;
	if (made >= 0 && domain != AF_UNIX)
		setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* those it accepts have it, too */
	return made;
}
