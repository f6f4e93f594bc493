"""Ways out of a sandbox. Each probe returns what it got hold of; nothing, or an error, means that the wall held."""
import ctypes, ctypes.util, errno, json, mmap, os, platform, resource, signal, socket, subprocess, sys, time

libc = ctypes.CDLL(None, use_errno=True)
X64 = platform.machine() == 'x86_64'
host = json.loads(sys.argv[2])


def call(number, *args):
    result = libc.syscall(number, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def host_file():
    return open(host['file']).read()


def host_accounts():
    return f"{len(open('/etc/shadow').read())} bytes of passwords"


def host_homes():
    return [path for path in ('/root', '/home', '/var', '/work', '/opt') if os.path.exists(path)]


def write_programs():
    path = '/usr/bin/planted-by-a-skill'
    open(path, 'w').close()
    os.unlink(path)
    return 'wrote to /usr/bin'


def remount():
    if libc.mount(b'none', b'/usr', None, 32 | 4096, None) == 0:
        return 'remounted /usr'
    raise OSError(ctypes.get_errno(), 'mount')


def write_skill():
    open('/skill/planted', 'w').close()
    return 'wrote to /skill'


def host_loopback():
    with socket.create_connection(('127.0.0.1', host['port']), 20) as connection:
        return connection.recv(20).decode()


def outside():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect(('192.0.2.1', 53))
        return f'a way out from {connection.getsockname()[0]}'


def metadata():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect(('169.254.169.254', 80))
        return f'a way to the metadata address from {connection.getsockname()[0]}'


def host_abstract_socket():
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect('\0' + host['abstract'])
        return connection.recv(20).decode()


def vsock():
    with socket.socket(40, socket.SOCK_STREAM):
        return 'a socket to the hypervisor'


def raw_socket():
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP):
        return 'a raw socket'


def packet_socket():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW):
        return 'a packet socket'


def io_uring():
    room = ctypes.create_string_buffer(120)
    return f'ring {call(425, 4, room)}'


def ptrace_child():
    child = os.fork()
    if child == 0:
        time.sleep(5)
        os._exit(0)
    try:
        if libc.ptrace(16, child, 0, 0) == 0:
            return 'attached to a process'
        raise OSError(ctypes.get_errno(), 'ptrace')
    finally:
        os.kill(child, 9)


def first_process_memory():
    with open('/proc/1/mem', 'rb') as memory, open('/proc/1/maps') as maps:
        memory.seek(int(maps.readline().split('-')[0], 16))
        return f'{len(memory.read(16))} bytes of process 1'


def kill_first_process():
    for number in sorted(signal.valid_signals()):
        os.kill(1, number)
    time.sleep(0.3)
    # It takes nothing but the sandbox itself; with gVisor of 2022 it does.
    return None


def limit_first_process():
    resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))
    return 'no more files for process 1'


def user_namespace():
    if libc.unshare(0x10000000) == 0:
        return 'a user namespace of its own'
    raise OSError(ctypes.get_errno(), 'unshare')


def user_namespace_by_clone():
    child = call(56 if X64 else 220, 0x10000000 | 17, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return 'a process in a user namespace of its own'


def enter_namespace():
    fd = os.open('/proc/1/ns/mnt', os.O_RDONLY)
    if libc.setns(fd, 0) == 0:
        return 'entered the namespace of process 1'
    raise OSError(ctypes.get_errno(), 'setns')


def keyring():
    return f"key {call(248 if X64 else 217, b'user', b'probe', b'x', 1, -3)}"


def bpf():
    attributes = ctypes.create_string_buffer(bytes([2, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0]), 72)
    return f'map {call(321 if X64 else 280, 0, attributes, 72)}'


def foreign_calls():
    """A 32-bit call (getpid by int 0x80), whose numbers no 64-bit filter means."""
    if not X64:
        raise OSError(errno.ENOSYS, 'only on x86-64')
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes([0x53, 0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0x5B, 0xC3]))
    pid = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    return f'a 32-bit call answered {pid}' if pid == os.getpid() else None


def device_node():
    os.mknod('/tmp/disk', 0o60600, os.makedev(*host['disk']))
    try:
        return open('/tmp/disk', 'rb').read(16)
    finally:
        os.unlink('/tmp/disk')


def device_files():
    known = {'full', 'null', 'random', 'tty', 'urandom', 'zero', 'fd', 'stdin', 'stdout', 'stderr', 'ptmx', 'pts'}
    known |= {'shm', 'core', 'console', 'mqueue', 'fuse' if not os.path.exists('/dev/fuse') else 'null'}
    return [name for name in os.listdir('/dev') if name not in known]


def host_processes():
    seen = []
    for pid in os.listdir('/proc'):
        if not pid.isdigit() or pid == '1':
            continue
        try:
            line = open(f'/proc/{pid}/cmdline').read()
        except OSError:
            # Ended since it was listed, or hidden: neither says anything about the others.
            continue
        if host['marker'] in line and 'probes.py' not in line:
            seen.append(line)
    return seen


def signal_host():
    os.kill(host['pid'], 0)
    return open(f"/proc/{host['pid']}/comm").read()


def kernel_settings():
    with open('/proc/sys/kernel/core_pattern', 'r+') as setting:
        value = setting.read()
        setting.seek(0)
        setting.write(value)
        return 'wrote to /proc/sys'


def sysrq():
    # Opened and not written, so that an open one does no harm.
    with open('/proc/sysrq-trigger', 'w'):
        return 'can trigger sysrq'


def environment():
    return [name for name, value in os.environ.items() if host['secret'] in value]


def first_environment():
    return host['secret'] in open('/proc/1/environ').read() or None


def inherited_descriptors():
    return [os.readlink(f'/proc/self/fd/{fd}') for fd in range(3, 64) if os.path.exists(f'/proc/self/fd/{fd}')]


def setuid_program():
    with subprocess.Popen(['/usr/bin/su', '-c', 'sleep 1'], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as su:
        status = open(f'/proc/{su.pid}/status').read()
        su.kill()
    return 'su runs as root' if status.split('Uid:')[1].split()[1] == '0' else None


def become_root():
    os.setuid(0)
    return f'uid {os.getuid()}'


def cgroup_files():
    path = '/sys/fs/cgroup'
    return [name for name in os.listdir(path) if os.access(os.path.join(path, name), os.W_OK)]


def fork_bomb():
    started = 0
    while started < 1000:
        try:
            if os.fork() == 0:
                time.sleep(30)
                os._exit(0)
        except OSError as error:
            print('held', f'{started} processes, then {error.strerror}', flush=True)
            os._exit(0)
        started += 1
    return '1000 processes'


def memory():
    kept = []
    for _ in range(64):
        kept.append(bytearray(b'x') * (16 << 20))
    return '1 GiB'


def fill(path):
    written = 0
    with open(path, 'wb', 0) as file:
        while written < 64 << 20:
            try:
                written += file.write(bytes(1 << 20))
            except OSError as error:
                print('held', f'{written >> 20} MiB, then {error.strerror}', flush=True)
                os._exit(0)
    return '64 MiB'


def disk():
    return fill('/workspace/filler')


def temporary():
    return fill('/tmp/filler')


def shared_memory():
    return fill('/dev/shm/filler')


def processor():
    for _ in range(3):
        os.fork()
    while time.process_time() < 20:
        pass
    return '8 processes of 20 s each'


try:
    got = globals()[sys.argv[1]]()
    print('open' if got else 'held', got or 'nothing there', flush=True)
except Exception as error:
    print('held', f'{type(error).__name__}: {error}'[:120], flush=True)
