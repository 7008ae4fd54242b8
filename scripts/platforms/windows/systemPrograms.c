/*
 * Programs that Wine 8 lacks, as far as Atlas and its tests use them. Which of them it is, its file's name tells.
 *   taskkill /pid N /t /f     ends a process with all below it (Wine's doesn't know /t)
 *   powershell … -Command S   when a process started, in ms since 1970 (Wine's does nothing)
 *   true, false               as git for Windows has them
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include <tlhelp32.h>

#define MOST 4096

static int end_tree(DWORD root)
{
    static DWORD pids[MOST];
    int count = 0, ended = 0;
    pids[count++] = root;
    /* Children are listed before anything is ended: afterwards nobody knows whose they were. */
    for (int at = 0; at < count; at++) {
        PROCESSENTRY32 entry = {.dwSize = sizeof entry};
        HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
        for (BOOL more = Process32First(all, &entry); more; more = Process32Next(all, &entry))
            if (entry.th32ParentProcessID == pids[at] && count < MOST) pids[count++] = entry.th32ProcessID;
        CloseHandle(all);
    }
    for (int at = 0; at < count; at++) {
        HANDLE process = OpenProcess(PROCESS_TERMINATE, FALSE, pids[at]);
        if (process == NULL) continue;
        if (TerminateProcess(process, 1)) ended++;
        CloseHandle(process);
    }
    return ended > 0 ? 0 : 128;
}

static int tell_start(DWORD pid)
{
    FILETIME start, exit, kernel, user;
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
    if (process == NULL || !GetProcessTimes(process, &start, &exit, &kernel, &user)) return 1;
    ULONGLONG ticks = ((ULONGLONG)start.dwHighDateTime << 32) | start.dwLowDateTime;
    /* From tenths of microseconds since 1601. */
    printf("%llu\r\n", ticks / 10000 - 11644473600000ULL);
    return 0;
}

static int is(const char *path, const char *name)
{
    const char *end = strrchr(path, '\\');
    return _strnicmp(end == NULL ? path : end + 1, name, strlen(name)) == 0;
}

int main(int count, char **arguments)
{
    if (is(arguments[0], "true")) return 0;
    if (is(arguments[0], "false")) return 1;
    const char *asked = count > 1 ? arguments[count - 1] : "";
    if (is(arguments[0], "powershell")) {
        const char *id = strstr(asked, "Get-Process -Id ");
        return id != NULL && strstr(asked, "StartTime") != NULL ? tell_start(atoi(id + 16)) : 1;
    }
    DWORD pid = 0;
    for (int at = 1; at + 1 < count; at++)
        if (_stricmp(arguments[at], "/pid") == 0) pid = atoi(arguments[at + 1]);
    return pid == 0 ? 1 : end_tree(pid);
}
