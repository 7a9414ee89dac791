#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The right to change the sockets of a folder, which one process has at a time: a lock on the folder itself (`flock(2)`),
/// so that no file is left behind.
struct FolderTurn {
    private let descriptor: Int32

    /// Whoever has it makes a few system calls. One who keeps it for longer than a second does so on purpose: then it is
    /// gone on without, as on a file system that knows no such locks.
    private static let tries = 50
    private static let pauseMilliseconds: Int32 = 20

    /// - Throws: ``ControlSocketError`` when there is no such folder, or it may not be read.
    init(for path: String) throws(ControlSocketError) {
        let name = path.lastIndex(of: "/").map { path[..<$0] }
        let folder = name.map { $0.isEmpty ? "/" : String($0) } ?? "."
        descriptor = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else { throw .system("cannot open the folder \(folder)", path, SystemErrorNumber(errno)) }
        var triesLeft = FolderTurn.tries
        while triesLeft > 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK || errno == EINTR {
            poll(nil, 0, FolderTurn.pauseMilliseconds)
            triesLeft -= 1
        }
    }

    func end() { close(descriptor) }
}
