// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives

/// A private copy of a CA file, as it was when it was tested. All loops and connections use the copy: whatever happens to the
/// file later changes nothing until it has been read and tested again. Where the path of the copy cannot be opened, as after a
/// change of the process's user, libcurl gets the bytes.
///
/// libcurl quirk: A directory of authorities (7.88.1). With a CA directory, or authorities as bytes, each TLS connection costs
/// 16 ms instead of 0.8 ms: it keeps only those of a file. So it gets one file, a copy in memory (`/proc/self/fd/N` of
/// memfd_create(2)). Tests: CertificateBundleTests, TrustedTransportTests.
///
/// Safe to share: nothing in it changes between its init and its deinit.
final class Authorities: @unchecked Sendable {
    private final class Reference: Sendable {
        weak let copy: Authorities?
        init(_ copy: Authorities) { self.copy = copy }
    }

    /// The maximum size of a CA file in bytes; the bundles of distributions have a quarter of a megabyte.
    private static let maximumFile = 64 << 20
    /// The copies in use. Files with equal signatures share one, so that many clients keep one copy.
    private static let copies = Lock<[FileSignature: Reference]>([:])

    /// The path in the settings, for errors.
    let file: String
    private let signature: FileSignature?
    private let bytes: UnsafeMutableRawBufferPointer
    /// The descriptor of the copy; negative when the system gave none, and the bytes are on the heap.
    private let descriptor: Int32

    /// Returns the copy of a file. It blocks during the disk access.
    /// - Throws: ``TransferFailure`` with code `trustRootsMissing`.
    static func copy(of file: String) throws(TransferFailure) -> Authorities {
        let signature = FileSignature(file)
        let known = signature.flatMap { signature in copies.withLock { $0[signature]?.copy } }
        if let known { return known }
        let content: [UInt8]
        do {
            content = try SmallFile.read(file, maximum: maximumFile)
        } catch {
            throw failure("the CA file \(file) cannot be read: \(error.reason)")
        }
        guard !content.isEmpty else { throw failure("the CA file \(file) is empty") }
        // A file that changes while it is read is not shared.
        let isSettled = signature != nil && FileSignature(file) == signature
        let copy = Authorities(content, of: file, isSettled ? signature : nil)
        if let signature, isSettled { copies.withLock { $0[signature] = Reference(copy) } }
        return copy
    }

    private init(_ content: [UInt8], of file: String, _ signature: FileSignature?) {
        self.file = file
        self.signature = signature
        if let (descriptor, bytes) = Authorities.memoryFile(content) {
            (self.descriptor, self.bytes) = (descriptor, bytes)
        } else {
            descriptor = -1
            bytes = .allocate(byteCount: content.count, alignment: 1)
            bytes.copyBytes(from: content)
        }
    }

    deinit {
        if let signature {
            // Another copy may have taken its place. It is released outside of the lock.
            let other = Authorities.copies.withLock { copies -> Authorities? in
                let other = copies[signature]?.copy
                if other == nil { copies[signature] = nil }
                return other
            }
            _ = consume other
        }
        if descriptor >= 0 {
            munmap(bytes.baseAddress, bytes.count)
            close(descriptor)
        } else {
            bytes.deallocate()
        }
    }

    /// Sets the authorities of a handle, which must not outlive this copy.
    func apply(
        path: CURLoption,
        bytes option: CURLoption,
        _ options: inout EasyOptions
    ) {
        let name = "/proc/self/fd/\(descriptor)"
        if descriptor >= 0, access(name, R_OK) == 0 {
            options.set(path, name)
        } else {
            options.set(option, bytes)
        }
        // The content never changes.
        options.set(CURLOPT_CA_CACHE_TIMEOUT, -1)
    }

    private static func memoryFile(_ content: [UInt8]) -> (Int32, UnsafeMutableRawBufferPointer)? {
        let descriptor = ccurl_memory_file("httpdns-authorities")
        guard descriptor >= 0 else { return nil }
        let isWritten = content.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = write(descriptor, bytes.baseAddress?.advanced(by: offset), bytes.count - offset)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                offset += count
            }
            return true
        }
        guard isWritten, let start = mmap(nil, content.count, PROT_READ, MAP_SHARED, descriptor, 0), start != MAP_FAILED
        else {
            close(descriptor)
            return nil
        }
        return (descriptor, UnsafeMutableRawBufferPointer(start: start, count: content.count))
    }

    private static func failure(_ message: String) -> TransferFailure {
        TransferFailure(code: .trustRootsMissing, phase: .tls, message: message)
    }
}
