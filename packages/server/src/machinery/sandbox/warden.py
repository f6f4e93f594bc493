"""The first process of a sandbox. It runs one command at a time and reads and writes files, as the worker asks.

It is process 1 of a process namespace, and all rests on that: nothing inside can signal it, every orphan becomes its
child, and kill(-1) reaches everything but itself, so that when wait() finds no child the command and all it started are
gone. It runs with no more rights than the commands; the worker believes none of its words beyond what a command could
say anyway. When the worker's end of the pipe closes a thread that only listens exits, and the kernel ends the rest.

A command can read its own output away, send the end of a pipe where nobody closes it, and in gVisor open the pipe that
wakes this process. So nothing here waits for a pipe of a command, and nothing rests on what comes out of one.

A message is two big-endian 32-bit lengths, a JSON head, a body. The worker sends one request and waits for its answer;
only `stop` may come while a command runs. Files are reached one path component at a time without following links.
"""
import ctypes, errno, heapq, itertools, json, os, queue, resource, select, signal, stat, struct, sys, threading

ROOTS = ('workspace', 'skill')
KINDS = {stat.S_IFREG: 'file', stat.S_IFDIR: 'directory'}
CHUNK = 1 << 18
MAX_DEPTH = 32
# A skill may leave half a million names of any kind; they must not fill the memory here, nor the answer.
MAX_LOOKS, MAX_CHOSEN, MAX_WAITING = 500_000, 1000, 10_000
MAX_NAMES, MAX_NAMES_BYTES = 200, 1 << 17
LOOK_EVERY_SECONDS = 0.25
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PR_SET_DUMPABLE = 4


class Refusal(Exception):
    pass


def listen():
    """In a thread. It waits for nobody: while a command runs there is at most a stop to be heard."""
    while True:
        part = os.read(requests, CHUNK)
        if not part:
            os._exit(0)
        heard.put(part)
        try:
            os.write(waker, b'\0')
        except BlockingIOError:
            pass


def read_exactly(size):
    while len(unread) < size:
        unread.extend(heard.get())
    taken = bytes(unread[:size])
    del unread[:size]
    return taken


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


def list_directory(names, most, order=lambda found: 0, looks=MAX_LOOKS):
    """The first entries with their own (not their target's) stat, sorted, and how many of all were looked at."""
    directory, looked = open_directory(names), itertools.count()
    try:
        with os.scandir(directory) as entries:
            stats = ((entry.name, entry.stat(follow_symlinks=False)) for entry in itertools.islice(entries, looks))
            sorted_by = ((order(found), name, found) for (name, found), _ in zip(stats, looked))
            return [entry[1:] for entry in heapq.nsmallest(most, sorted_by)], next(looked)
    finally:
        os.close(directory)


def fitting(values):
    """As many of the first as an answer has room for."""
    sizes = itertools.accumulate(len(json.dumps(value)) for value in values)
    return [value for value, size in zip(values, sizes) if size <= MAX_NAMES_BYTES]


def printable(names):
    return '/'.join(names).encode('utf-8', 'backslashreplace').decode()


def list_files(request, _):
    names = split(request['path'])
    try:
        entries, _ = list_directory(names, request['maxEntries'])
    except (FileNotFoundError, NotADirectoryError):
        entries = []
    answer({'entries': fitting([
        {'path': '/' + printable([*names, name]), 'sizeBytes': found.st_size, 'kind': KINDS.get(stat.S_IFMT(found.st_mode), 'other')}
        for name, found in entries
    ])})


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


def importance(found):
    return 0 if stat.S_ISREG(found.st_mode) and found.st_size > 0 else 1 if stat.S_ISDIR(found.st_mode) else 2


def collect(request, _):
    files, room, looks = request['maxFiles'], request['maxBytes'], MAX_LOOKS
    waiting, left_out, others = [[]], [], 0
    while waiting and looks > 0:
        path = waiting.pop(0)
        try:
            entries, looked = list_directory(['workspace', *path], MAX_CHOSEN, importance, looks)
        except OSError:
            entries, looked = [], 0
            left_out.append(printable(path))
        looks, others = looks - looked, others + looked - len(entries)
        for name, found in entries:
            inner = [*path, name]
            if stat.S_ISDIR(found.st_mode) and len(inner) < MAX_DEPTH and len(waiting) < MAX_WAITING:
                waiting.append(inner)
            elif files > 0 and found.st_size <= room and is_plain(inner, found) and send_collected(inner):
                files, room = files - 1, room - found.st_size
            elif len(left_out) < MAX_NAMES:
                left_out.append(printable(inner))
            else:
                others += 1
    named = fitting(left_out)
    answer({'leftOut': named, 'others': others + len(left_out) - len(named) + len(waiting)})


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


def read_ready(fd):
    """What is there; None when nothing is, whatever has been said about it before."""
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return None


def drain(outputs, fd, limit):
    part = read_ready(fd)
    kept = outputs[fd]
    room = limit - len(kept['bytes'])
    kept['cut'] = kept['cut'] or len(part or b'') > room
    kept['bytes'] += (part or b'')[:room]
    return part


def follow(child, outputs, limit):
    """Until the command itself has ended or is stopped; its status when it has."""
    status, open_fds = None, set(outputs)
    while status is None:
        # A command in gVisor can take away what wakes this process.
        ready, _, _ = select.select([woken, *open_fds], [], [], LOOK_EVERY_SECONDS)
        read_ready(woken)
        if unread or not heard.empty():
            receive()
            break
        for fd in open_fds.intersection(ready):
            if drain(outputs, fd, limit) == b'':
                open_fds.discard(fd)
        status = reap(child, status)
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
    child = status = None
    try:
        for fd in outputs:
            os.set_blocking(fd, False)
        try:
            child = start(request, stdin, stdout_end, stderr_end)
        finally:
            for fd in (stdin, stdout_end, stderr_end):
                os.close(fd)
        status = follow(child, outputs, request['maxOutputBytes'])
    finally:
        # Whatever has been raised. Then nobody is left to write; who holds a pipe open all the same is not waited for.
        status = end_all(child, status)
        for fd in outputs:
            while drain(outputs, fd, request['maxOutputBytes']):
                pass
            os.close(fd)
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
    # At 0 a kernel that hands cores to a program of the host still does. No core is as short as 1.
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    # What process 1 has no handler for does not reach it from within. Python has one for this; another is needed below.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    threading.Thread(target=listen, daemon=True).start()
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
        except OSError as error:
            answer({'refused': error.strerror or str(error)})
        except (Refusal, ValueError) as error:
            answer({'refused': str(error)})


requests, answers = os.dup(0), os.dup(1)
heard, unread = queue.Queue(4), bytearray()
woken, waker = os.pipe()
os.set_blocking(woken, False)
os.set_blocking(waker, False)
main()
