/* A library to preload: counts the calls that write below one folder, and lets a chosen one fail as a disk would.

   Real calls fail, so that Python's files, safetensors' and torch's are all met alike. See torture_faults.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT, FULL, BROKEN, SHORT, KILL, FAULTS };     /* the order of FAULTS in torture_faults.py */
enum { OPENS, WRITES, SYNCS, RENAMES, REMOVES };

static int armed, fault, fails_at, calls[FAULTS];
static char folder[512];

void torture_arm(const char *name, int which, int at) {
    strncpy(folder, name, sizeof folder - 1);
    memset(calls, 0, sizeof calls);
    fault = which, fails_at = at, armed = 1;
}

int torture_calls(int which) { return calls[which]; }

static int concerns(int which, int kind) {
    switch (which) {
        case FULL: return kind != RENAMES && kind != REMOVES;
        case BROKEN: return kind != REMOVES;
        case SHORT: return kind == WRITES;
        default: return which == KILL;
    }
}

static int is_ours(int at, const char *path) {
    char link[64], target[4096];
    if (path && strstr(path, folder)) return 1;
    if (at < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    ssize_t size = readlink(link, target, sizeof target - 1);
    if (size < 0) return 0;
    target[size] = 0;
    return strstr(target, folder) != NULL;
}

/* Whether this call is the one that fails; a full disk stays full. */
static int is_hit(int kind, int at, const char *path) {
    if (!armed) return 0;
    int saved = errno, ours = is_ours(at, path);
    errno = saved;
    if (!ours) return 0;
    for (int which = 0; which < FAULTS; which++) calls[which] += concerns(which, kind);
    int hit = concerns(fault, kind) && (fault == FULL ? calls[fault] >= fails_at : calls[fault] == fails_at);
    if (hit && fault == KILL && kind != WRITES) kill(getpid(), SIGKILL);
    return hit;
}

static int refuse(void) {
    errno = fault == FULL ? ENOSPC : EIO;
    return -1;
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) {
    if (!is_hit(WRITES, fd, NULL)) return REAL(write)(fd, data, size);
    if (fault == BROKEN || (fault == FULL && calls[FULL] > fails_at)) return refuse();
    ssize_t half = size > 1 ? REAL(write)(fd, data, size / 2) : 0;   /* the first to meet the full disk fits in part */
    if (fault == KILL) kill(getpid(), SIGKILL);
    return half > 0 ? half : fault == FULL ? refuse() : REAL(write)(fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    return is_hit(WRITES, fd, NULL) && fault != SHORT ? refuse() : REAL(writev)(fd, parts, count);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t place) {
    return is_hit(WRITES, fd, NULL) && fault != SHORT ? refuse() : REAL(pwrite64)(fd, data, size, place);
}

#define OPEN(name)                                                                        \
    int name(const char *path, int flags, ...) {                                          \
        va_list rest;                                                                     \
        va_start(rest, flags);                                                            \
        mode_t mode = va_arg(rest, mode_t);                                               \
        va_end(rest);                                                                     \
        if (flags & O_CREAT && is_hit(OPENS, -1, path)) return refuse();                  \
        return REAL(name)(path, flags, mode);                                             \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                      \
    int name(int at, const char *path, int flags, ...) {                                  \
        va_list rest;                                                                     \
        va_start(rest, flags);                                                            \
        mode_t mode = va_arg(rest, mode_t);                                               \
        va_end(rest);                                                                     \
        if (flags & O_CREAT && is_hit(OPENS, at, path)) return refuse();                  \
        return REAL(name)(at, path, flags, mode);                                         \
    }
OPENAT(openat)
OPENAT(openat64)

int mkdir(const char *path, mode_t mode) { return is_hit(OPENS, -1, path) ? refuse() : REAL(mkdir)(path, mode); }
int ftruncate64(int fd, off64_t size) { return is_hit(OPENS, fd, NULL) ? refuse() : REAL(ftruncate64)(fd, size); }
int fsync(int fd) { return is_hit(SYNCS, fd, NULL) ? refuse() : REAL(fsync)(fd); }
int fdatasync(int fd) { return is_hit(SYNCS, fd, NULL) ? refuse() : REAL(fdatasync)(fd); }
int rename(const char *from, const char *to) { return is_hit(RENAMES, -1, to) ? refuse() : REAL(rename)(from, to); }
int unlink(const char *path) { return is_hit(REMOVES, -1, path) ? refuse() : REAL(unlink)(path); }
int rmdir(const char *path) { return is_hit(REMOVES, -1, path) ? refuse() : REAL(rmdir)(path); }
int unlinkat(int at, const char *path, int flags) {
    return is_hit(REMOVES, at, path) ? refuse() : REAL(unlinkat)(at, path, flags);
}
