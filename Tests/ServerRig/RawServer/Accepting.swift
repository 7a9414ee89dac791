// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// Accepts a connection that programs started meanwhile do not inherit. The result and `errno` are those of accept(2).
func acceptedSocket(at listener: Int32) -> Int32 {
    spawning.withLock { _ in
        let socket = Glibc.accept(listener, nil, nil)
        if socket >= 0 { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
        return socket
    }
}

extension FileDescriptor {
    /// Waits for the next connection to this listener, and accepts it; nil once the listener is shut down.
    func nextConnection() -> FileDescriptor? {
        while true {
            var descriptors = [pollfd(fd: number, events: Int16(POLLIN), revents: 0)]
            guard poll(&descriptors, 1, -1) >= 0 || errno == EINTR else { return nil }
            let socket = acceptedSocket(at: number)
            if socket >= 0 { return FileDescriptor(socket) }
            guard errno == EAGAIN || errno == EINTR else { return nil }
        }
    }
}
