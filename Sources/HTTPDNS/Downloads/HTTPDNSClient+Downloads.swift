// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
public import HTTPTypes

extension HTTPDNSClient {
    /// A response whose body is in a file.
    public struct Download: Sendable {
        /// The response. Its body has been read. That of a download that was continued has the status 206.
        public var response: HTTPDNSClient.Response
        /// The path of the file, with links resolved.
        public var path: String
        /// The number of bytes in the file.
        public var bytes: Int64
    }
}

extension HTTPDNSClient {
    /// Sends a request and saves the body of its response, whole or not at all, see
    /// ``HTTPDNSClient/Response/Body/save(to:upTo:)``.
    ///
    /// The file is created before the request is sent, so that a folder without write permission costs no request. Only
    /// a response with a status from 200 to 299 is saved: an error page must not replace a good file. Other statuses
    /// are an error with code `unexpectedStatus`; for those use ``execute(_:)`` and `save(to:)`.
    /// - Parameters:
    ///   - request: The request. Its ``Timeouts/total`` covers the body and the
    ///     file.
    ///   - path: The path of the file.
    ///   - limit: The most bytes that are saved. A longer body fails with ``HTTPDNSClientError/Code/responseTooLarge``,
    ///     and nothing is saved. nil is the limit of the call.
    ///   - decodesBody: Whether content codings are requested and decoded. When false, the file holds what the server
    ///     sent.
    ///   - existingFile: The handling of a file that has this path, and of the rest of an earlier download.
    ///   - checksum: The checksum that the bytes must have; nil for none. Other bytes fail with
    ///     ``HTTPDNSClientError/Code/checksumMismatch``, and nothing is saved or kept. The file is read once more for it.
    ///   - progress: A closure for progress reports, see ``HTTPDNSClient/Response/Body/reportingProgress(_:)``. Those of a
    ///     download that continues an earlier one begin with its bytes.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func download(
        _ request: HTTPDNSClient.Request,
        to path: String,
        upTo limit: HTTPDNSByteCount? = nil,
        decodesBody: Bool = false,
        existingFile: HTTPDNSClient.Download.ExistingFile = .replace,
        checksum: HTTPDNSClient.Download.Checksum? = nil,
        progress: (@Sendable (HTTPDNSClient.Progress) -> Void)? = nil
    ) async throws -> HTTPDNSClient.Download {
        try checksum?.validate()
        var request = pipeline.resolved(request)
        request.changeOptions { options in
            options.decodesBody = decodesBody
            options.maximumResponseBody = limit ?? options.maximumResponseBody
        }
        let time = CallTime(request.options.timeouts)
        let file = try await FileSaving(path, existingFile, in: .request, of: time)
        do {
            let response: HTTPDNSClient.Response
            if existingFile == .resume {
                response = try await ResumedDownload(
                    client: self,
                    request: request,
                    file: file,
                    time: time,
                    limit: request.options.maximumResponseBody?.bytes,
                    progress: progress
                ).run()
            } else {
                response = try await received(request, within: time, into: file, progress)
            }
            try await checksum?.check(file, response)
            let (bytes, path) = try await file.finishCounted()
            return HTTPDNSClient.Download(response: response, path: path, bytes: bytes)
        } catch {
            if let error = error as? HTTPDNSClientError, error.code == .checksumMismatch { await file.forget() }
            await file.discard(after: error)
            throw error
        }
    }

    /// Receives a body into a file, which stays open.
    private func received(
        _ request: HTTPDNSClient.Request,
        within time: CallTime,
        into file: FileSaving,
        _ progress: (@Sendable (HTTPDNSClient.Progress) -> Void)?
    ) async throws -> HTTPDNSClient.Response {
        var response = try await pipeline.call(request, within: time)
        guard response.status.kind == .successful else { throw HTTPDNSClientError.unexpectedStatus(response) }
        if let progress { response.body = response.body.reportingProgress(progress) }
        _ = try await response.body.write(to: file)
        return response
    }

    /// Sends a GET request and saves the body of its response, see
    /// ``download(_:to:upTo:decodesBody:existingFile:checksum:progress:)``.
    /// - Parameters:
    ///   - url: The absolute http or https URL.
    ///   - path: The path of the file.
    ///   - headerFields: The header fields.
    ///   - limit: The most bytes that are saved.
    ///   - decodesBody: Whether content codings are requested and decoded.
    ///   - existingFile: The handling of a file that has this path, and of the rest of an earlier download.
    ///   - checksum: The checksum that the bytes must have; nil for none.
    ///   - change: A change of the client's options for this call.
    ///   - progress: A closure for progress reports.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func download(
        _ url: String,
        to path: String,
        headerFields: HTTPFields = [:],
        upTo limit: HTTPDNSByteCount? = nil,
        decodesBody: Bool = false,
        existingFile: HTTPDNSClient.Download.ExistingFile = .replace,
        checksum: HTTPDNSClient.Download.Checksum? = nil,
        _ change: HTTPDNSClient.Request.Options.Change? = nil,
        progress: (@Sendable (HTTPDNSClient.Progress) -> Void)? = nil
    ) async throws -> HTTPDNSClient.Download {
        try await download(
            HTTPDNSClient.Request(url: url, headerFields: headerFields, change),
            to: path,
            upTo: limit,
            decodesBody: decodesBody,
            existingFile: existingFile,
            checksum: checksum,
            progress: progress
        )
    }
}

extension HTTPDNSClient {
    /// The progress of the transfer of a body.
    public struct Progress: Hashable, Sendable, CustomStringConvertible {
        /// The bytes so far.
        public var bytes: Int64
        /// The total number of bytes; nil while it is unknown. At the end it equals ``bytes``.
        public var total: Int64?
        /// Whether the transfer is complete.
        public var isComplete: Bool

        /// Creates a report.
        public init(bytes: Int64, total: Int64?, isComplete: Bool) {
            self.bytes = bytes
            self.total = total
            self.isComplete = isComplete
        }

        /// The fraction that is done, from 0 to 1; nil while the total is unknown.
        public var fraction: Double? {
            guard !isComplete else { return 1 }
            guard let total else { return nil }
            return total > 0 ? min(1, Double(bytes) / Double(total)) : 0
        }

        /// The counts as text, such as `1024 of 4096 bytes` or `1024 bytes of an unknown number`.
        public var description: String {
            total.map { "\(bytes) of \($0) bytes" } ?? "\(bytes) bytes of an unknown number"
        }

        /// Returns a closure that calls both, the first one first.
        static func reporting(
            to first: (@Sendable (HTTPDNSClient.Progress) -> Void)?,
            and second: @escaping @Sendable (HTTPDNSClient.Progress) -> Void
        ) -> @Sendable (HTTPDNSClient.Progress) -> Void {
            guard let first else { return second }
            return { progress in
                first(progress)
                second(progress)
            }
        }
    }
}
