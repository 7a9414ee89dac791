// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// A content coding in which the body of a request can be sent (RFC 9110 section 8.4.1).
    public struct ContentCoding: Hashable, Sendable, CustomStringConvertible {
        /// The coding gzip (RFC 1952), which nearly every server can decode.
        public static let gzip = HTTPDNSClient.ContentCoding(format: .gzip)
        /// The coding that HTTP calls deflate: the format of zlib (RFC 1950). Servers disagree about it; prefer
        /// ``gzip`` where possible.
        public static let deflate = HTTPDNSClient.ContentCoding(format: .zlib)

        // One byte, because every request has room for it.
        private enum Format: UInt8 {
            case gzip, zlib
        }

        private let format: Format

        /// The name in `Content-Encoding`.
        public var description: String { name }

        var name: String {
            switch format {
            case .gzip: "gzip"
            case .zlib: "deflate"
            }
        }

        /// The parameter of zlib: the largest window (15), and 16 more for the gzip format around it.
        var windowBits: Int32 {
            switch format {
            case .gzip: 15 + 16
            case .zlib: 15
            }
        }
    }
}

extension HTTPDNSClient.Request.Body {
    /// Returns the same body, compressed while it is sent, with a `Content-Encoding` field. A server may not support
    /// the coding, and a client cannot find out in advance: many answer 415 (RFC 9110 section 15.5.16).
    ///
    /// - Bodies in memory (bytes, text, JSON, forms) are compressed as a whole, so that their length is known, and once
    ///   a call. Retries, redirects and other addresses get the same bytes. These are kept beside the plain ones until
    ///   the response head.
    /// - Files, multipart forms and streams are compressed piece by piece as the server reads them, with unknown
    ///   length. HTTP/1.1 sends chunks, and `HTTPDNSClient.AllowedVersions.http10Only` refuses them. The compressor
    ///   needs 256 KiB.
    /// - It runs in tasks of the client, never on the loop thread. Cancellation ends it, and so does the call's
    ///   deadline: with ``HTTPDNSClientError/Code/timedOut`` in the phase ``HTTPDNSClientError/Phase/request`` for
    ///   bodies in memory.
    /// - It can be sent again if the plain body can.
    /// - A stream is sent in blocks of some ten thousand bytes, and not chunk by chunk. A server that answers each
    ///   chunk has to wait for a whole block.
    /// - Progress counts the bytes that are sent; `total` is nil until the end when the length is not known.
    /// - A body that already has a coding takes this one instead, and ``none`` stays none.
    ///
    /// A request with a `Content-Encoding` of its own is refused (``HTTPDNSClientError/Code/invalidRequest``).
    /// - Parameter coding: The coding; zlib's default level.
    public func compressed(_ coding: HTTPDNSClient.ContentCoding = .gzip) -> HTTPDNSClient.Request.Body {
        if case .none = content { return self }
        var body = self
        body.coding = coding
        return body
    }
}

extension HTTPDNSClient.ContentCoding {
    /// Returns the bytes in this coding, reusing those of an earlier hop of the call.
    func compressed(
        _ bytes: [UInt8],
        until deadline: MonotonicTime?,
        keeping kept: CompressedOnce?
    ) async throws -> [UInt8] {
        if let compressed = kept?.bytes(of: bytes, in: self) { return compressed }
        let compressed = try await compressed(bytes, until: deadline)
        kept?.keep(compressed, of: bytes, in: self)
        return compressed
    }

    /// Returns bytes in this coding.
    /// - Throws: ``HTTPDNSClientError`` with code `requestBodyFailed`, or `timedOut` at the deadline; `CancellationError`.
    func compressed(
        _ bytes: [UInt8],
        until deadline: MonotonicTime? = nil,
        on clock: some TimeSource = SystemTimeSource()
    ) async throws -> [UInt8] {
        // The caller's task may run on the loop. A new task does not inherit that.
        let work = Task(executorPreference: CallWork.executor) {
            try await compressedHere(bytes, until: deadline, on: clock)
        }
        return try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            work.cancel()
        }
    }

    private func compressedHere(
        _ bytes: [UInt8],
        until deadline: MonotonicTime?,
        on clock: some TimeSource
    ) async throws -> [UInt8] {
        do {
            let deflater = try Deflater(self)
            var (input, output) = (bytes[...], [UInt8]())
            while !input.isEmpty {
                try Task.checkCancellation()
                // A timer would need a thread of its own.
                if let deadline, clock.now() >= deadline {
                    throw HTTPDNSClientError.bodyOverdue(while: "the request's body was compressed")
                }
                output += try deflater.add(&input)
                // Other tasks need the thread too.
                await Task.yield()
            }
            while !deflater.isFinished { output += try deflater.finish() }
            return output
        } catch let fault as Deflater.Fault {
            throw HTTPDNSClientError.requestBody(
                "the request's body cannot be compressed: \(fault)",
                hint: "send it without compressed(_:)",
                underlying: fault
            )
        }
    }
}

/// The body in memory that a call has compressed last, for all attempts, retries and redirects that send it. It lives
/// as long as the call. Two concurrent hops compress twice.
final class CompressedOnce: Sendable {
    private struct Kept {
        let coding: HTTPDNSClient.ContentCoding
        /// Kept as well, so that its memory cannot be reused by other bytes.
        let plain: [UInt8]
        let bytes: [UInt8]
    }

    private let kept = Lock<Kept?>(nil)

    /// Returns the compressed form of exactly this array. Comparing contents would cost as much as compressing some.
    func bytes(of plain: [UInt8], in coding: HTTPDNSClient.ContentCoding) -> [UInt8]? {
        guard let kept = kept.withLock({ $0 }), kept.coding == coding, Self.areInOnePlace(kept.plain, plain) else {
            return nil
        }
        return kept.bytes
    }

    func keep(_ bytes: [UInt8], of plain: [UInt8], in coding: HTTPDNSClient.ContentCoding) {
        kept.withLock { $0 = Kept(coding: coding, plain: plain, bytes: bytes) }
    }

    private static func areInOnePlace(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.withUnsafeBytes { one in
            other.withUnsafeBytes { one.baseAddress == $0.baseAddress && one.count == $0.count }
        }
    }
}
