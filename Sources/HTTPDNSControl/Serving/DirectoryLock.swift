internal import Glibc

/// A lock on a folder (`flock(2)`) for changes of its sockets, which one process holds at a time, without a lock file.
struct DirectoryLock {
    private let descriptor: Int32

    /// A holder makes only a few system calls. If the lock is held for longer than a second, the process continues without
    /// it, as on a file system without such locks.
    private static let tries = 50
    private static let pauseMilliseconds: Int32 = 20

    /// - Throws: ``ControlSocketError`` when the folder does not exist, or cannot be read.
    init(for path: String) throws(ControlSocketError) {
        let name = path.lastIndex(of: "/").map { path[..<$0] }
        let folder = name.map { $0.isEmpty ? "/" : String($0) } ?? "."
        descriptor = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else { throw .system("cannot open the folder \(folder)", path, SystemErrorNumber(errno)) }
        var triesLeft = DirectoryLock.tries
        while triesLeft > 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK || errno == EINTR {
            poll(nil, 0, DirectoryLock.pauseMilliseconds)
            triesLeft -= 1
        }
    }

    func end() { close(descriptor) }
}
