// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A download that begins with the bytes of an earlier one, see ``HTTPDNSClient/Download/ExistingFile/resume``.
struct ResumedDownload: Sendable {
    let client: HTTPDNSClient
    let request: HTTPDNSClient.Request
    let file: FileSaving
    /// The times of the download, with all of its requests.
    let time: CallTime
    /// The most bytes of the file; nil for no limit.
    let limit: Int?
    let progress: (@Sendable (HTTPDNSClient.Progress) -> Void)?

    /// The position of the next byte, and what the server said about the whole.
    private struct Part: Sendable {
        var length: Int64
        var state: PartialDownload
    }

    /// Receives the body into the file, which stays open.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func run() async throws -> HTTPDNSClient.Response {
        try checkRequest()
        guard let part = try await storedPart() else { return try await restarted(time) }
        if let response = try await continued(part, time) { return response }
        return try await restarted(time)
    }

    /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest`.
    private func checkRequest() throws(HTTPDNSClientError) {
        let reason: String
        if request.method != .get {
            reason = "its method is \(request.method.rawValue)"
        } else if request.options.decodesBody {
            reason = "its body is decoded"
        } else if request.headerFields.contains(where: { $0.name == .range || $0.name == .ifRange }) {
            reason = "it has a Range or If-Range field"
        } else {
            return
        }
        throw HTTPDNSClientError(
            code: .invalidRequest,
            phase: .request,
            message: "a download with .resume cannot be sent: \(reason)",
            hint: "it needs GET, decodesBody false and no such field; .replace downloads everything else"
        )
    }

    /// Returns the part of an earlier download; nil when there is none of this URL.
    private func storedPart() async throws -> Part? {
        let key = PartialDownload.key(of: request)
        return try await file.perform(in: .request) { file in
            var length = file.length
            guard let state = PartialDownload.stored(for: file), state.url == key, length > 0,
                length <= state.total ?? .max
            else {
                // A part of anything else is not kept.
                try file.truncate(to: 0)
                return nil
            }
            // Of a complete part the last byte is requested again: the response proves that the part is still the resource.
            if length == state.total {
                length -= 1
                try file.truncate(to: length)
            }
            file.keep()
            return length > 0 ? Part(length: length, state: state) : nil
        }
    }

    /// Requests the rest of a part.
    /// - Returns: The last response; nil when the download must begin again.
    private func continued(_ stored: Part, _ time: CallTime) async throws -> HTTPDNSClient.Response? {
        var part = stored
        while true {
            var request = timed(time)
            request.headerFields[.range] = "bytes=\(part.length)-"
            request.headerFields[.ifRange] = part.state.validator
            var response = try await send(request)
            switch response.statusCode {
            case 206:
                guard let (range, total) = range(of: response, continuing: part) else {
                    try await response.body.discard()
                    return nil
                }
                if let limit, total > limit { throw tooLarge(limit, response) }
                report(&response, after: part.length, total: total)
                try await write(response, of: range)
                part.length = range.last + 1
                // A server may send less than the range that was requested.
                if part.length == total { return response }
            case 416:
                try await response.body.discard()
                return nil
            case 200: return try await received(response)
            default: throw HTTPDNSClientError.unexpectedStatus(response)
            }
        }
    }

    /// Writes the bytes of a range to the end of the file.
    /// - Throws: ``HTTPDNSClientError``, with code `protocolViolation` for a body of another length: of a shorter one the bytes
    ///   are kept, of a longer one nothing is kept of the file. `CancellationError`.
    private func write(_ response: HTTPDNSClient.Response, of range: ContentRange) async throws {
        let length = range.last - range.first + 1
        let count: Int64
        do {
            count = try await response.body.write(to: file, upTo: .bytes(Int(length)))
        } catch let error as HTTPDNSClientError where error.code == .responseTooLarge {
            // The range ends within the limit, so that a body over the limit is also longer than its range.
            await file.forget()
            throw differentFromRange(
                "is longer than its Content-Range of \(length) bytes",
                hint: "nothing of it is kept: download it again, with .replace if its server repeats this",
                response
            )
        }
        guard count == length else {
            throw differentFromRange(
                "ended after \(count) of the \(length) bytes of its Content-Range",
                hint: "the received bytes are kept: the next download with .resume requests the rest",
                response
            )
        }
    }

    /// Returns the range of a response that continues a part, and the length of the whole; nil for a response that does not belong
    /// to the part, and while the length of the whole is unknown: nothing would tell that the last byte has arrived.
    private func range(
        of response: HTTPDNSClient.Response,
        continuing part: Part
    ) -> (ContentRange, total: Int64)? {
        let fields = response.headerFields
        guard let text = fields.singleton(.contentRange)?.value, let range = ContentRange(text),
            range.first == part.length, let total = range.total ?? part.state.total, range.last < total
        else { return nil }
        if let known = part.state.total, total != known { return nil }
        if let declared = response.body.declaredLength, declared != range.last - range.first + 1 { return nil }
        // A server that ignores If-Range sends a part of another resource.
        if fields.contains(.eTag) || part.state.validator.utf8.first == UInt8(ascii: "\"") {
            guard fields.singleton(.eTag)?.value == part.state.validator else { return nil }
        } else if let modified = fields.singleton(.lastModified)?.value, modified != part.state.validator {
            return nil
        }
        return part.state.isSelected(by: request, response) ? (range, total) : nil
    }

    /// Requests the whole body.
    private func restarted(_ time: CallTime) async throws -> HTTPDNSClient.Response {
        let response = try await send(timed(time))
        guard response.status.kind == .successful, response.statusCode != 206 else {
            throw HTTPDNSClientError.unexpectedStatus(response)
        }
        return try await received(response)
    }

    /// Receives a whole body in place of an earlier part.
    private func received(_ whole: HTTPDNSClient.Response) async throws -> HTTPDNSClient.Response {
        var response = whole
        if let limit, let declared = response.body.declaredLength, declared > limit { throw tooLarge(limit, response) }
        let state = PartialDownload(response, to: request, total: response.body.declaredLength)
        try await file.perform { file in
            PartialDownload.remove(for: file)
            try file.truncate(to: 0)
            try state?.store(for: file)
        }
        report(&response, after: 0, total: response.body.declaredLength)
        _ = try await response.body.write(to: file, upTo: limit.map { .bytes($0) })
        return response
    }

    /// Sends a request that has the options of the download.
    private func send(_ request: HTTPDNSClient.Request) async throws -> HTTPDNSClient.Response {
        try await client.pipeline.call(request, within: CallTime(request.options.timeouts))
    }

    /// Returns the request with the time that the download has left.
    private func timed(_ time: CallTime) -> HTTPDNSClient.Request {
        var request = request
        let left = time.deadline.map { $0 - SystemTimeSource().now() }
        request.changeOptions { options in
            options.notesSentFields = true
            options.timeouts.total = left
        }
        return request
    }

    private func report(_ response: inout HTTPDNSClient.Response, after length: Int64, total: Int64?) {
        guard let progress else { return }
        response.body = response.body.reportingProgress { step in
            progress(
                HTTPDNSClient.Progress(
                    bytes: length + step.bytes,
                    total: total ?? (step.isComplete ? length + step.bytes : nil),
                    isComplete: step.isComplete && length + step.bytes == total ?? (length + step.bytes)
                )
            )
        }
    }

    /// Returns the error for a part whose body has not the bytes of its range.
    private func differentFromRange(
        _ difference: String,
        hint: String,
        _ response: HTTPDNSClient.Response
    ) -> HTTPDNSClientError {
        var error = HTTPDNSClientError.body(
            .protocolViolation,
            on: response.body.hop,
            of: "the part of a download",
            difference,
            hint: hint
        )
        error.requestMayHaveBeenSent = true
        return error
    }

    private func tooLarge(_ limit: Int, _ response: HTTPDNSClient.Response) -> HTTPDNSClientError {
        HTTPDNSClientError.bodyTooLong(limit: .bytes(limit), on: response.body.hop)
    }
}
