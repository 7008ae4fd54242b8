/*
 * A folder shown as a volume of macOS would show it: names that differ only in case or in Unicode's normal form are one
 * name, a file keeps the name that it was made by, and a name that is no UTF-8 is refused.
 *   volume BACKING MOUNTPOINT [options of FUSE]
 */
#define FUSE_USE_VERSION 35
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utf8proc.h>

static char backing[PATH_MAX];

/* What two names have in common that are one; NULL where a name is no UTF-8. To be freed. */
static char *key_of(const char *name)
{
    utf8proc_uint8_t *key = NULL;
    utf8proc_option_t how = UTF8PROC_NULLTERM | UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD;
    return utf8proc_map((const utf8proc_uint8_t *)name, 0, &key, how) < 0 ? NULL : (char *)key;
}

/* Puts the name under which `wanted` is in `folder` into `found`. Returns whether there is one. */
static int find_name(const char *folder, const char *wanted, const char *key, char *found)
{
    DIR *all = opendir(folder);
    if (all == NULL) return 0;
    int is_found = 0;
    for (struct dirent *entry; !is_found && (entry = readdir(all)) != NULL;) {
        if (strcmp(entry->d_name, wanted) == 0) {
            is_found = 1;
        } else {
            char *other = key_of(entry->d_name);
            is_found = other != NULL && strcmp(other, key) == 0;
            free(other);
        }
        if (is_found) strcpy(found, entry->d_name);
    }
    closedir(all);
    return is_found;
}

/* Where a path of the volume lies in the backing folder. Returns 0, or an error as FUSE wants it. */
static int locate(const char *path, char *at)
{
    strcpy(at, backing);
    char rest[PATH_MAX], *state = NULL;
    if (strlen(path) + strlen(backing) + 2 > PATH_MAX) return -ENAMETOOLONG;
    strcpy(rest, path);
    for (char *part = strtok_r(rest, "/", &state); part != NULL; part = strtok_r(NULL, "/", &state)) {
        size_t length = strlen(at);
        char *key = key_of(part);
        if (key == NULL) return -EILSEQ;
        struct stat stat;
        snprintf(at + length, PATH_MAX - length, "/%s", part);
        if (lstat(at, &stat) != 0 && errno == ENOENT) {
            char found[NAME_MAX + 1];
            at[length] = 0;
            int is_found = find_name(at, part, key, found);
            snprintf(at + length, PATH_MAX - length, "/%s", is_found ? found : part);
        }
        free(key);
    }
    return 0;
}

#define LOCATE(path, at)                     \
    char at[PATH_MAX];                       \
    do {                                     \
        int wrong = locate(path, at);        \
        if (wrong != 0) return wrong;        \
    } while (0)
#define ANSWER(call) return (call) == -1 ? -errno : 0

static int get_attributes(const char *path, struct stat *stat, struct fuse_file_info *info)
{
    if (info != NULL) ANSWER(fstat(info->fh, stat));
    LOCATE(path, at);
    ANSWER(lstat(at, stat));
}

static int read_link(const char *path, char *target, size_t size)
{
    LOCATE(path, at);
    ssize_t length = readlink(at, target, size - 1);
    if (length == -1) return -errno;
    target[length] = 0;
    return 0;
}

static int make_folder(const char *path, mode_t mode) { LOCATE(path, at); ANSWER(mkdir(at, mode)); }
static int make_node(const char *path, mode_t mode, dev_t device) { LOCATE(path, at); ANSWER(mknod(at, mode, device)); }
static int remove_file(const char *path) { LOCATE(path, at); ANSWER(unlink(at)); }
static int remove_folder(const char *path) { LOCATE(path, at); ANSWER(rmdir(at)); }
static int make_link(const char *target, const char *path) { LOCATE(path, at); ANSWER(symlink(target, at)); }

static int rename_path(const char *from, const char *to, unsigned flags)
{
    LOCATE(from, source);
    LOCATE(to, target);
    /* The same file by another spelling: its name becomes that one. */
    if (strcmp(source, target) == 0) strcpy(strrchr(target, '/'), strrchr(to, '/'));
    ANSWER(renameat2(AT_FDCWD, source, AT_FDCWD, target, flags));
}

static int link_file(const char *from, const char *to) { LOCATE(from, source); LOCATE(to, target); ANSWER(link(source, target)); }
static int set_mode(const char *path, mode_t mode, struct fuse_file_info *info) { (void)info; LOCATE(path, at); ANSWER(chmod(at, mode)); }
static int set_owner(const char *path, uid_t user, gid_t group, struct fuse_file_info *info) { (void)info; LOCATE(path, at); ANSWER(lchown(at, user, group)); }

static int cut(const char *path, off_t size, struct fuse_file_info *info)
{
    if (info != NULL) ANSWER(ftruncate(info->fh, size));
    LOCATE(path, at);
    ANSWER(truncate(at, size));
}

static int set_times(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
    (void)info;
    LOCATE(path, at);
    ANSWER(utimensat(AT_FDCWD, at, times, AT_SYMLINK_NOFOLLOW));
}

static int open_at(const char *path, int flags, mode_t mode, struct fuse_file_info *info)
{
    LOCATE(path, at);
    int file = open(at, flags, mode);
    if (file == -1) return -errno;
    info->fh = file;
    return 0;
}

static int open_file(const char *path, struct fuse_file_info *info) { return open_at(path, info->flags, 0, info); }
static int create_file(const char *path, mode_t mode, struct fuse_file_info *info) { return open_at(path, info->flags, mode, info); }

static int read_file(const char *path, char *bytes, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)path;
    ssize_t count = pread(info->fh, bytes, size, offset);
    return count == -1 ? -errno : (int)count;
}

static int write_file(const char *path, const char *bytes, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)path;
    ssize_t count = pwrite(info->fh, bytes, size, offset);
    return count == -1 ? -errno : (int)count;
}

static int tell_space(const char *path, struct statvfs *space) { LOCATE(path, at); ANSWER(statvfs(at, space)); }
static int close_file(const char *path, struct fuse_file_info *info) { (void)path; ANSWER(close(info->fh)); }
static int sync_file(const char *path, int data, struct fuse_file_info *info) { (void)path; (void)data; ANSWER(fsync(info->fh)); }
static int sync_folder(const char *path, int data, struct fuse_file_info *info) { (void)path; (void)data; (void)info; return 0; }
static int may(const char *path, int mode) { LOCATE(path, at); ANSWER(access(at, mode)); }

static int list_folder(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
    (void)offset;
    (void)info;
    (void)flags;
    LOCATE(path, at);
    DIR *all = opendir(at);
    if (all == NULL) return -errno;
    for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
        struct stat stat = {.st_ino = entry->d_ino, .st_mode = entry->d_type << 12};
        if (fill(buffer, entry->d_name, &stat, 0, 0) != 0) break;
    }
    closedir(all);
    return 0;
}

/* Nothing is remembered by the kernel: to it, two spellings of a name are two files. */
static void *begin(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)connection;
    config->use_ino = 1;
    config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
    config->hard_remove = 1;
    return NULL;
}

static const struct fuse_operations operations = {
    .init = begin, .getattr = get_attributes, .readlink = read_link, .mkdir = make_folder, .mknod = make_node,
    .unlink = remove_file, .rmdir = remove_folder, .symlink = make_link, .rename = rename_path, .link = link_file,
    .chmod = set_mode, .chown = set_owner, .truncate = cut, .utimens = set_times, .open = open_file,
    .create = create_file, .read = read_file, .write = write_file, .statfs = tell_space, .release = close_file,
    .fsync = sync_file, .fsyncdir = sync_folder, .access = may, .readdir = list_folder,
};

int main(int count, char **arguments)
{
    if (count < 3 || realpath(arguments[1], backing) == NULL) {
        fprintf(stderr, "usage: volume BACKING MOUNTPOINT [options]\n");
        return 2;
    }
    umask(0);
    arguments[1] = arguments[0];
    return fuse_main(count - 1, arguments + 1, &operations, NULL);
}
