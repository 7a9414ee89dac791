// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
public import HTTPDNSPrimitives
public import HTTPTypes

/// A recording of requests and responses in a file, which answers the same requests later without the servers.
///
/// ```swift
/// let recording = try HTTPDNSRecording("Tests/Recordings/shop.har", mode: .update)
/// var configuration = HTTPDNSClient.Configuration()
/// configuration.use(recording)
/// ```
///
/// The file is a HAR 1.2 log, which browsers open. Each hop of a call is recorded: redirects are followed again when they are
/// played back. Of a request body only a digest is recorded, and a request that fails is not recorded. Secrets are replaced, see
/// ``Options/redaction``.
///
/// A request is found by its method, its URL without the fragment, the digest of its body, and the values of the fields in
/// ``Options/matchedFields``. Secrets are not compared. Repeated requests get their responses in the recorded order, and then the last one again. In
/// place of a recorded 304, a request without a condition gets the response before it.
public final class HTTPDNSRecording: HTTPDNSClient.Interceptor {
    /// The use of a recording.
    public struct Mode: Hashable, Sendable, CustomStringConvertible {
        /// The name of the mode.
        public let description: String

        /// All requests are sent and recorded. ``HTTPDNSRecording/save()`` replaces the file.
        public static let record = Mode(description: "record")
        /// All requests are answered from the file. A request that is not in the file fails.
        public static let playBack = Mode(description: "play back")
        /// The requests in the file are answered from it, and all others are sent and added. The file may be missing.
        public static let update = Mode(description: "update")
    }

    /// The settings of a recording.
    public struct Options: Hashable, Sendable {
        /// The header fields whose values a request must share with the recorded one, such as `Accept`.
        public var matchedFields: [HTTPField.Name] = []
        /// The names of query items that are not compared, in any case and without percent-encoding. They are recorded.
        public var ignoredQueryItems: Set<String> = []
        /// The header fields of requests and responses that are not recorded. By default `Authorization`,
        /// `Proxy-Authorization`, `Cookie` and `Set-Cookie`: a played back response sets no cookie.
        public var excludedFields: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie, .setCookie]
        /// The names of query items that are neither recorded nor compared, in any case and without percent-encoding. They
        /// are also removed from `Location`, `Content-Location` and `Referer`.
        public var excludedQueryItems: Set<String> = []
        /// The secrets that are replaced by `(redacted)` in URLs, header fields and response bodies, and not compared. Numbers of
        /// a secret in JSON become 0, and lists and objects stay, so that a response can still be decoded.
        public var redaction = HTTPDNSClient.Redaction.standard
        /// Whether a request must have the body of the recorded one: as JSON regardless of the order of its members, and
        /// without its secrets. A stream, a multipart form and a body from a file are not compared.
        public var comparesBodies = true
        /// The most bytes of a response body that are recorded. A longer body passes whole, and is recorded as incomplete.
        public var maximumBody = HTTPDNSByteCount.mebibytes(16)

        /// Creates the default settings.
        public init() {}
    }

    /// The path of the file.
    public let file: String
    /// The use of the recording.
    public let mode: Mode
    private let settings: RecordingSettings
    private let wallClock: WallClock
    private let clock: any TimeSource
    private let state: Lock<RecordingState>

    /// Creates a recording. Its file is read now, unless the mode is ``Mode/record``.
    /// - Throws: ``HTTPDNSRecording/Error``: a file that cannot be read or is no HAR log, with the position; a field that
    ///   is to be matched, and excluded or a secret.
    public convenience init(_ file: String, mode: Mode, options: Options = Options()) throws(HTTPDNSRecording.Error) {
        try self.init(file, mode: mode, options: options, clock: SystemTimeSource(), wallClock: .system)
    }

    init(
        _ file: String,
        mode: Mode,
        options: Options,
        clock: any TimeSource,
        wallClock: WallClock
    ) throws(HTTPDNSRecording.Error) {
        self.file = file
        self.mode = mode
        self.clock = clock
        self.wallClock = wallClock
        settings = try RecordingSettings(options)
        var entries: [HTTPArchive.Entry] = []
        if mode != .record {
            entries = try RecordingFile.read(file, mayBeMissing: mode == .update, digest: settings.digest).log.entries
        }
        state = Lock(try RecordingState(entries, settings, file))
    }

    /// The number of recorded responses, those of the file included.
    public var count: Int { state.withLock { $0.count } }
    /// The number of entries of the file that are no responses: with a status below 200, as logs of browsers have for blocked
    /// requests and WebSockets, or without a time. They are not played back, and stay in the file.
    public var skippedEntries: Int { state.withLock { $0.skipped } }

    /// Writes the file. It is written beside its path, and renamed when it is on the disk. A body that is still being read
    /// is written as far as it was read.
    ///
    /// It waits for the disk. With the mode ``Mode/playBack``, and when nothing was added in the mode ``Mode/update``, it
    /// does nothing.
    /// - Throws: ``HTTPDNSRecording/Error`` with code `unwritable`.
    public func save() throws(HTTPDNSRecording.Error) {
        guard mode != .playBack else { return }
        let entries = state.withLock { state in mode == .record || state.hasNew ? state.entries : nil }
        if let entries { try RecordingFile.write(HTTPArchive(entries: entries), to: file) }
    }

    /// Answers a request from the recording, or sends and records it.
    /// - Throws: ``HTTPDNSRecording/Error`` with code `notRecorded` for a request that is not in the file; the errors of
    ///   `next`.
    public func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        let isConditional = request.headerFields.contains { RecordingState.conditions.contains($0.name) }
        let key = settings.key(of: request)
        let keys = [key, key.withoutBody]
        if mode != .record, let recorded = state.withLock({ $0.next(for: keys, isConditional: isConditional) }) {
            return recorded.response(file).asDecoded(for: request, context)
        }
        guard mode != .playBack else {
            let isOther = key.body != nil && state.withLock { $0.hasOtherBody(key) }
            throw HTTPDNSRecording.Error.notRecorded(key, in: file, settings.options, hasOtherBody: isOther)
        }
        let (start, date) = (clock.now(), wallClock.now())
        let received = try await next(request, context)
        let head = clock.now()
        let entry = settings.entry(request, received, date: date, wait: head - start)
        // The file has decoded bodies, also those that a response cache gets coded.
        var response = received.decodedForTest(of: request, context)
        let length = response.body.declaredLength
        let number = state.withLock { $0.append(entry, isComplete: length == 0) }
        if length != 0 {
            let chunks = RecordedChunks(base: response.body, recording: self, number: number, head: head)
            response.body = response.body.changed(to: chunks, length: length)
        }
        return response
    }

    /// Adds a chunk to the body of an entry.
    fileprivate func append(_ chunk: [UInt8], to number: Int) {
        let limit = settings.options.maximumBody.bytes
        state.withLock { $0.append(chunk, to: number, limit: limit) }
    }

    /// Notes the end of the body of an entry.
    /// - Parameters:
    ///   - received: The number of bytes of the body.
    ///   - head: The time at which its head had arrived.
    fileprivate func end(_ number: Int, received: Int, head: MonotonicTime) {
        let receive = (clock.now() - head).inMilliseconds
        state.withLock { $0.end(number, received: received, receive: receive) }
    }
}

/// A body that is recorded while it is read.
private struct RecordedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Swift.Error

    let base: HTTPDNSClient.Response.Body
    let recording: HTTPDNSRecording
    /// The number of the entry.
    let number: Int
    /// The time at which the head had arrived.
    let head: MonotonicTime

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: HTTPDNSClient.Response.Body.AsyncIterator
        let chunks: RecordedChunks
        var received = 0
        var hasEnded = false

        mutating func next() async throws -> [UInt8]? {
            if let chunk = try await base.next() {
                received += chunk.count
                chunks.recording.append(chunk, to: chunks.number)
                return chunk
            }
            if !hasEnded { chunks.recording.end(chunks.number, received: received, head: chunks.head) }
            hasEnded = true
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator(), chunks: self) }
}

extension HTTPDNSClient.Configuration {
    /// Makes a recording the innermost interceptor of the client: it records requests as they are sent, after all other
    /// interceptors. Stubs that were set before stay, and only requests that they do not answer reach the recording.
    public mutating func use(_ recording: HTTPDNSRecording) {
        innermost = innermost.map { InnermostPair(outer: $0, inner: recording) } ?? recording
    }
}

/// Two interceptors in the place of one.
private struct InnermostPair: HTTPDNSClient.Interceptor {
    let outer: any HTTPDNSClient.Interceptor
    let inner: any HTTPDNSClient.Interceptor

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        try await outer.intercept(request, context: context) { request, context in
            try await self.inner.intercept(request, context: context, next: next)
        }
    }
}
