// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import HTTPTypes

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A recorded response that answers requests.
struct RecordedResponse: Sendable {
    let head: HTTPArchive.Response
    let body: [UInt8]
    let isIncomplete: Bool
}

/// The content of a recording.
struct RecordingState: Sendable {
    private struct Sequence: Sendable {
        var responses: [RecordedResponse] = []
        var used = 0
    }

    private struct New: Sendable {
        var entry: HTTPArchive.Entry
        var body: [UInt8] = []
        /// Whether bytes of the body are missing.
        var isIncomplete = true
    }

    private let old: [HTTPArchive.Entry]
    private let settings: RecordingSettings
    /// The number of old entries that are no responses.
    private(set) var skipped = 0
    private var new: [New] = []
    private var sequences: [RecordingKey: Sequence] = [:]

    /// - Throws: ``HTTPDNSRecording/Error`` with code `malformed` for a body that cannot be decoded.
    init(
        _ entries: [HTTPArchive.Entry],
        _ settings: RecordingSettings,
        _ file: String
    ) throws(HTTPDNSRecording.Error) {
        old = entries
        self.settings = settings
        for (index, entry) in entries.enumerated() {
            // A blocked request, a WebSocket, an interim response, or a request that had not ended.
            guard entry.time != nil, entry.response.status >= 200 else {
                skipped += 1
                continue
            }
            let content = entry.response.content
            guard let body = Self.bytes(content) else {
                throw .malformed(
                    file,
                    "log.entries[\(index)].response.content.text is not \(content.encoding ?? "text")"
                )
            }
            guard entry.response.status <= 599 else {
                throw .malformed(file, "log.entries[\(index)].response.status is above 599")
            }
            let response = RecordedResponse(
                head: entry.response,
                body: body,
                isIncomplete: content.isIncomplete ?? Self.isMissing(entry)
            )
            sequences[settings.key(of: entry.request), default: Sequence()].responses.append(response)
        }
    }

    /// Whether the body of an entry was not exported. A response to HEAD and a 304 state the size of a body that they do not have.
    private static func isMissing(_ entry: HTTPArchive.Entry) -> Bool {
        let content = entry.response.content
        return content.text == nil && content.size > 0 && entry.request.method != "HEAD" && entry.response.status != 304
    }

    var count: Int { old.count - skipped + new.count }
    var hasNew: Bool { !new.isEmpty }

    /// All entries, in the order of their responses.
    var entries: [HTTPArchive.Entry] {
        old
            + new.map { new in
                var entry = new.entry
                let type = entry.response.content.mimeType
                let content = settings.content(new.body, of: type, isIncomplete: new.isIncomplete)
                entry.response.content = content
                entry.response.content.isIncomplete = new.isIncomplete || content.text == nil ? true : nil
                // The length of the body without its secrets.
                if !new.isIncomplete, content.size != Int64(new.body.count) {
                    for index in entry.response.headers.indices
                    where entry.response.headers[index].name.lowercased() == "content-length" {
                        entry.response.headers[index].value = "\(content.size)"
                    }
                }
                return entry
            }
    }

    /// The header fields that a 304 is a response to (RFC 9110 section 13.1).
    static let conditions: Set<HTTPField.Name> = [.ifNoneMatch, .ifModifiedSince]

    /// Returns the next response for a request; nil when there is none.
    ///
    /// A 304 was recorded for a request with a condition, such as that of a response cache. It says that the response before it
    /// still holds.
    /// - Parameters:
    ///   - keys: The keys of the request, the most exact one first.
    ///   - isConditional: Whether the request has a condition.
    mutating func next(for keys: [RecordingKey], isConditional: Bool) -> RecordedResponse? {
        guard let key = keys.first(where: { sequences[$0] != nil }), let sequence = sequences[key] else { return nil }
        let index = min(sequence.used, sequence.responses.count - 1)
        sequences[key]?.used += 1
        if isConditional { return sequence.responses[index] }
        return sequence.responses[...index].last { $0.head.status != 304 }
            ?? sequence.responses[index...].first { $0.head.status != 304 }
    }

    /// Whether there is a response to the same request with another body.
    func hasOtherBody(_ key: RecordingKey) -> Bool { sequences.keys.contains { $0.withoutBody == key.withoutBody } }

    /// Adds an entry, and returns its number.
    mutating func append(_ entry: HTTPArchive.Entry, isComplete: Bool) -> Int {
        new.append(New(entry: entry, isIncomplete: !isComplete))
        return new.count - 1
    }

    /// Adds bytes to the body of an entry, up to a limit.
    mutating func append(_ chunk: [UInt8], to number: Int, limit: Int) {
        new[number].body += chunk.prefix(max(0, limit - new[number].body.count))
    }

    /// Notes the end of the body of an entry.
    mutating func end(_ number: Int, received: Int, receive: Double) {
        new[number].isIncomplete = new[number].body.count < received
        new[number].entry.timings.receive = receive
        new[number].entry.time = (new[number].entry.time ?? 0) + receive
    }

    static func content(_ bytes: [UInt8], of type: String) -> HTTPArchive.Content {
        var content = HTTPArchive.Content(size: Int64(bytes.count), mimeType: type)
        // A text keeps each of its bytes in JSON, as long as they are UTF-8 without a zero.
        if !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) {
            content.text = text
        } else {
            content.text = Data(bytes).base64EncodedString()
            content.encoding = "base64"
        }
        return content
    }

    private static func bytes(_ content: HTTPArchive.Content) -> [UInt8]? {
        guard let text = content.text else { return [] }
        guard let encoding = content.encoding, !encoding.isEmpty else { return Array(text.utf8) }
        guard encoding.lowercased() == "base64" else { return nil }
        return Data(base64Encoded: text).map(Array.init)
    }
}
