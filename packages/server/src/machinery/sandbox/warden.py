"""The first process of a sandbox. It runs one command at a time and reads and writes files, as the worker asks.

It is process 1 of a process namespace, and all rests on that: nothing inside can signal it, every orphan becomes its
child, and kill(-1) reaches everything but itself, so that when wait() finds no child the command and all it started are
gone. It runs with no more rights than the commands; the worker believes none of its words beyond what a command could
say anyway. When the worker's end of the pipe closes it exits, and the kernel ends the rest.

A message is two big-endian 32-bit lengths, a JSON head, a body. The worker sends one request and waits for its answer;
only `stop` may come while a command runs. Files are reached one path component at a time without following links.
"""
import ctypes, errno, json, os, select, signal, stat, struct, sys

ROOTS = ('workspace', 'skill')
CHUNK = 1 << 18
MAX_DEPTH = 32
MAX_NAMES = 200
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PR_SET_DUMPABLE = 4


class Refusal(Exception):
    pass


def read_exactly(size):
    parts = []
    while size > 0:
        part = os.read(requests, min(size, CHUNK))
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b''.join(parts)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def receive():
    head, body = struct.unpack('>II', read_exactly(8))
    return json.loads(read_exactly(head)), body


def answer(head, body=b'', body_size=None):
    encoded = json.dumps(head).encode()
    write_all(answers, struct.pack('>II', len(encoded), len(body) if body_size is None else body_size) + encoded)
    write_all(answers, body)


# Files


def split(path):
    names = [name for name in os.path.join('/workspace', path).split('/') if name not in ('', '.')]
    if '..' in names or not names or names[0] not in ROOTS:
        raise Refusal('a path must be below /workspace or /skill')
    return names


def open_directory(names, make=False):
    fd = os.open('/', DIRECTORY)
    for name in names:
        try:
            if make:
                try:
                    os.mkdir(name, 0o755, dir_fd=fd)
                except FileExistsError:
                    pass
            # Not left to O_NOFOLLOW alone: with O_DIRECTORY beside it, gVisor of 2022 follows links all the same.
            if not stat.S_ISDIR(os.lstat(name, dir_fd=fd).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            inner = os.open(name, DIRECTORY, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


def open_path(names, flags=os.O_RDONLY):
    """A regular file; with O_CREAT its folders are made too."""
    directory = open_directory(names[:-1], make=bool(flags & os.O_CREAT))
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for its other end.
        fd = os.open(names[-1], flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644, dir_fd=directory)
    finally:
        os.close(directory)
    found = os.fstat(fd)
    if stat.S_ISREG(found.st_mode):
        return fd, found
    os.close(fd)
    raise OSError(errno.ENOENT, 'not a regular file')


def send_file(head, fd, size):
    answer(head, body_size=size)
    while size > 0:
        part = os.read(fd, min(size, CHUNK)) or bytes(min(size, CHUNK))
        write_all(answers, part)
        size -= len(part)


def read_file(request, _):
    names = split(request['path'])
    try:
        fd, found = open_path(names)
    except OSError:
        return answer({'missing': True})
    try:
        send_file({'truncated': found.st_size > request['maxBytes']}, fd, min(found.st_size, request['maxBytes']))
    finally:
        os.close(fd)


def write_file(request, body):
    left = body
    try:
        names = split(request['path'])
        if names[0] != 'workspace' or len(names) < 2:
            raise Refusal('only files below /workspace can be written')
        fd, _ = open_path(names, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            while left > 0:
                part = read_exactly(min(left, CHUNK))
                left -= len(part)
                write_all(fd, part)
        finally:
            os.close(fd)
    finally:
        read_exactly(left)
    answer({})


def kind_of(mode):
    return 'file' if stat.S_ISREG(mode) else 'directory' if stat.S_ISDIR(mode) else 'other'


def list_directory(names):
    """Entries with their own (not their target's) stat, sorted; names that are no text are shown with their bytes."""
    directory = open_directory(names)
    try:
        with os.scandir(directory) as found:
            return sorted(((entry.name, entry.stat(follow_symlinks=False)) for entry in found), key=lambda e: e[0])
    finally:
        os.close(directory)


def printable(names):
    return '/'.join(names).encode('utf-8', 'backslashreplace').decode()


def list_files(request, _):
    names = split(request['path'])
    try:
        entries = list_directory(names)[:request['maxEntries']]
    except (FileNotFoundError, NotADirectoryError):
        entries = []
    answer({'entries': [
        {'path': '/' + printable([*names, name]), 'sizeBytes': found.st_size, 'kind': kind_of(found.st_mode)}
        for name, found in entries
    ]})


def is_plain(path, found):
    return stat.S_ISREG(found.st_mode) and printable(path) == '/'.join(path)


def send_collected(path):
    try:
        fd, found = open_path(['workspace', *path])
    except OSError:
        return False
    try:
        send_file({'path': printable(path), 'executable': bool(found.st_mode & 0o100)}, fd, found.st_size)
        return True
    finally:
        os.close(fd)


def collect(request, _):
    files, room, left_out = request['maxFiles'], request['maxBytes'], []
    waiting = [[]]
    while waiting:
        path = waiting.pop(0)
        try:
            entries = list_directory(['workspace', *path])
        except OSError:
            entries = []
            left_out.append(printable(path))
        for name, found in entries:
            inner = [*path, name]
            if stat.S_ISDIR(found.st_mode) and len(inner) < MAX_DEPTH:
                waiting.append(inner)
            elif files > 0 and found.st_size <= room and is_plain(inner, found) and send_collected(inner):
                files, room = files - 1, room - found.st_size
            else:
                left_out.append(printable(inner))
    answer({'leftOut': left_out[:MAX_NAMES]})


# Commands


def become_command(request, stdin, stdout, stderr):
    """In the child. A command that hoards memory is ended before this process, which would take the files with it."""
    set_dumpable(1)
    with open('/proc/self/oom_score_adj', 'w') as score:
        score.write('1000')
    os.setsid()
    os.chdir('/workspace')
    for number, fd in enumerate((stdin, stdout, stderr)):
        os.dup2(fd, number)
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    os.execve('/bin/bash', ['bash', '-c', request['shell']], request['env'])


def start(request, stdin, stdout, stderr):
    child = os.fork()
    if child == 0:
        try:
            become_command(request, stdin, stdout, stderr)
        except Exception as error:
            write_all(stderr, f'The command could not be started: {error}\n'.encode())
        finally:
            os._exit(127)
    return child


def reap(child, status):
    """Collects what has ended; the command's own status when it was among them."""
    while True:
        try:
            ended, found = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if ended == 0:
            return status
        if ended == child:
            status = found


def end_all(child, status):
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            # Nobody left; gVisor says it with EPERM.
            pass
        try:
            ended, found = os.waitpid(-1, 0)
        except ChildProcessError:
            return status
        if ended == child:
            status = found


def drain(outputs, fd, limit):
    part = os.read(fd, CHUNK)
    kept = outputs[fd]
    room = limit - len(kept['bytes'])
    kept['cut'] = kept['cut'] or len(part) > room
    kept['bytes'] += part[:room]
    return part


def follow(child, outputs, limit):
    """Until the command itself has ended or is stopped. Then all it left running ends too."""
    status, ended, open_fds = None, False, set(outputs)
    while not ended:
        ready, _, _ = select.select([requests, woken, *open_fds], [], [])
        if requests in ready:
            receive()
            ended = True
        if woken in ready:
            os.read(woken, CHUNK)
            status = reap(child, status)
            ended = ended or status is not None
        for fd in open_fds.intersection(ready):
            if not drain(outputs, fd, limit):
                open_fds.discard(fd)
    status = end_all(child, status)
    for fd in open_fds:
        while drain(outputs, fd, limit):
            pass
    return status


def signal_name(number):
    return signal.Signals(number).name if number in set(signal.Signals) else f'SIG{number}'


def run(request, body):
    stdin = os.memfd_create('stdin')
    write_all(stdin, read_exactly(body))
    os.lseek(stdin, 0, os.SEEK_SET)
    stdout, stdout_end = os.pipe()
    stderr, stderr_end = os.pipe()
    outputs = {fd: {'bytes': bytearray(), 'cut': False} for fd in (stdout, stderr)}
    try:
        try:
            child = start(request, stdin, stdout_end, stderr_end)
        finally:
            for fd in (stdin, stdout_end, stderr_end):
                os.close(fd)
        status = follow(child, outputs, request['maxOutputBytes'])
    finally:
        os.close(stdout)
        os.close(stderr)
    killed = os.WIFSIGNALED(status)
    answer({
        'exitCode': None if killed else os.WEXITSTATUS(status),
        'signal': signal_name(os.WTERMSIG(status)) if killed else None,
        'truncated': outputs[stdout]['cut'] or outputs[stderr]['cut'],
        'stdoutBytes': len(outputs[stdout]['bytes']),
    }, outputs[stdout]['bytes'] + outputs[stderr]['bytes'])


def set_dumpable(value):
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, value, 0, 0, 0)


def main():
    # Somewhere else kill(-1) would end the machine.
    if os.getpid() != 1:
        sys.exit('the warden must be process 1 of a process namespace')
    # Also closes /proc/1 (memory, descriptors) to the commands, which have the same user.
    set_dumpable(0)
    # What process 1 has no handler for does not reach it from within. Python has one for this; another is needed below.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    operations = {
        'hello': lambda *_: answer({'ready': True}),
        'run': run, 'read': read_file, 'write': write_file, 'list': list_files, 'collect': collect,
    }
    while True:
        request, body = receive()
        operation = operations.get(request['op'])
        # A stop that arrives after its command has ended is late, and asks for nothing.
        if operation is None:
            continue
        try:
            operation(request, body)
        except Refusal as refusal:
            answer({'refused': str(refusal)})
        except OSError as error:
            answer({'refused': error.strerror or str(error)})
        except ValueError as error:
            answer({'refused': str(error)})


requests, answers = os.dup(0), os.dup(1)
woken, waker = os.pipe()
os.set_blocking(woken, False)
os.set_blocking(waker, False)
main()
