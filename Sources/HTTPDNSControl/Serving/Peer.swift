internal import Glibc

/// The user at the other end of a connection, as reported by the kernel.
struct Peer: Hashable, Sendable {
    var userID: uid_t

    init(userID: uid_t) { self.userID = userID }

    /// - Returns: Nil when the system does not report it.
    init?(of descriptor: Int32) {
        // struct ucred of unix(7): process, user and group, which glibc declares for _GNU_SOURCE only.
        var credentials: (pid: pid_t, user: uid_t, group: gid_t) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0,
            length == MemoryLayout.size(ofValue: credentials)
        else { return nil }
        userID = credentials.user
    }

    /// Whether the peer is the service's own user, or root.
    var mayControl: Bool { mayControl(serviceOf: geteuid()) }

    func mayControl(serviceOf user: uid_t) -> Bool { userID == 0 || userID == user }
}
