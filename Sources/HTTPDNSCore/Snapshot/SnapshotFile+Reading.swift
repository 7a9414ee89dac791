internal import Glibc
internal import HTTPDNSPrimitives

extension SnapshotFile {
    /// Returns the bytes of the file, if only this process's user can have written them; nil when there is no file.
    ///
    /// It reads at most `maximumBytes`, and no part of a larger file. Neither a pipe nor a device can block it.
    func contents(maximumBytes: Int) throws(HTTPDNSResolutionStoreError) -> [UInt8]? {
        if let fault { throw failure(.notReadable, fault) }
        guard let descriptor = OpenDescriptor(open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))
        else {
            let systemError = errno
            if systemError == ENOENT { return nil }
            guard systemError != ELOOP else { throw symbolicLink(.unsafePermissions) }
            throw failure(.notReadable, systemError: systemError, during: "it cannot be opened")
        }
        var status = stat()
        guard fstat(descriptor.number, &status) == 0 else {
            throw failure(.notReadable, systemError: errno, during: "its status cannot be read")
        }
        try check(status)
        guard status.st_size <= maximumBytes else {
            throw failure(
                .tooLarge,
                "it has \(status.st_size) bytes, and \(maximumBytes) are allowed; raise the limit, or remove the file"
            )
        }
        return try octets(of: descriptor, count: Int(status.st_size))
    }

    func symbolicLink(_ code: HTTPDNSResolutionStoreError.Code) -> HTTPDNSResolutionStoreError {
        failure(code, "it is a symbolic link, which others could turn elsewhere; give the path of the file itself")
    }

    /// Checks owner and permissions.
    ///
    /// A user with write access to the file decides where requests go, within the address policy; so it must be this user
    /// alone.
    private func check(_ status: stat) throws(HTTPDNSResolutionStoreError) {
        guard status.isRegularFile else {
            throw failure(.notReadable, "it is no regular file; give the path of a file of its own")
        }
        guard status.st_uid == user else {
            throw failure(
                .unsafePermissions,
                "it belongs to user \(status.st_uid), and this process runs as user \(user); remove it"
            )
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            let mode = String(status.st_mode & 0o7777, radix: 8)
            throw failure(.unsafePermissions, "others may write it (mode \(mode)); remove it if that was not meant")
        }
    }

    private func octets(of descriptor: borrowing OpenDescriptor, count: Int) throws(HTTPDNSResolutionStoreError)
        -> [UInt8]
    {
        let number = descriptor.number
        var systemError: Int32 = 0
        let octets = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let part = UnsafeMutableRawBufferPointer(buffer)[initialized...]
                let step = read(number, UnsafeMutableRawBufferPointer(rebasing: part).baseAddress, count - initialized)
                if step < 0, errno == EINTR { continue }
                if step < 0 { systemError = errno }
                // An early end means that another process is truncating the file. The length check then fails.
                guard step > 0 else { return }
                initialized += step
            }
        }
        guard systemError == 0 else { throw failure(.notReadable, systemError: systemError, during: "reading") }
        return octets
    }
}

extension stat {
    var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
    var isSymbolicLink: Bool { st_mode & S_IFMT == S_IFLNK }
}
