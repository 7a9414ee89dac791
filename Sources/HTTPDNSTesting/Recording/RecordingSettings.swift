// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The identity of a request in a recording.
struct RecordingKey: Hashable, Sendable {
    let method: String
    let url: String
    /// The digest of the body; nil for an empty one, and one that is not compared.
    var body: String?
    /// The values of the matched header fields, in the order of the settings.
    let values: [[String]]

    var withoutBody: RecordingKey {
        var key = self
        key.body = nil
        return key
    }
}

/// The options of a recording, and the entries and keys that follow from them.
struct RecordingSettings: Sendable {
    let options: HTTPDNSRecording.Options
    private let redaction: HTTPDNSClient.Redaction
    /// The names of the query items that are not recorded, in lower case.
    private let excludedItems: Set<String>
    /// The names of the query items that are not compared, in lower case.
    private let uncomparedItems: Set<String>
    /// The header fields with a URL, whose excluded query items are removed too.
    private let fieldsWithURL: Set<HTTPField.Name>

    /// - Throws: ``HTTPDNSRecording/Error`` with code `configuration`.
    init(_ options: HTTPDNSRecording.Options) throws(HTTPDNSRecording.Error) {
        if let name = options.matchedFields.first(where: options.excludedFields.contains) {
            throw HTTPDNSRecording.Error(
                .configuration,
                "the field \(name) is in matchedFields and in excludedFields: its values are not in the file to be compared"
            )
        }
        redaction = options.redaction.keepingTypes
        if let name = options.matchedFields.first(where: redaction.isSecret) {
            throw HTTPDNSRecording.Error(
                .configuration,
                "the field \(name) is in matchedFields, and a secret by the redaction: its values are not in the file to be "
                    + "compared"
            )
        }
        self.options = options
        excludedItems = Set(options.excludedQueryItems.map { $0.lowercased() })
        uncomparedItems = excludedItems.union(options.ignoredQueryItems.map { $0.lowercased() })
        fieldsWithURL = Set(["Location", "Content-Location", "Referer"].compactMap { HTTPField.Name($0) })
    }

    func key(of request: HTTPDNSClient.Request) -> RecordingKey {
        RecordingKey(
            method: request.method.rawValue,
            url: text(of: request.url, without: uncomparedItems),
            body: digest(of: request),
            values: options.matchedFields.map { name in
                request.headerFields[fields: name].map(redaction.value)
            }
        )
    }

    func key(of request: HTTPArchive.Request) -> RecordingKey {
        RecordingKey(
            method: request.method,
            url: text(of: request.url, without: uncomparedItems),
            body: options.comparesBodies ? request.bodyDigest : nil,
            values: options.matchedFields.map { name in
                request.headers.filter { $0.name.lowercased() == name.canonicalName }
                    .map { redaction.value(of: $0.field(name)) }
            }
        )
    }

    /// Returns a URL in one spelling, without its secrets and without some query items; other schemes than http and https stay
    /// as they are.
    private func text(of url: String, without names: Set<String>) -> String {
        let canonical = (try? HTTPDNSRewriter.Canonicalizer.canonicalize(url))?.description ?? url
        return RecordedURL.text(redaction.url(ofServer: canonical), without: names)
    }

    /// Returns the digest of a body in memory; nil for an empty one, and one that is not compared.
    private func digest(of request: HTTPDNSClient.Request) -> String? {
        let type = request.headerFields[.contentType] ?? request.body.contentType
        guard options.comparesBodies, let bytes = request.body.startInMemory(upTo: .max),
            Int64(bytes.count) == request.body.declaredLength
        else { return nil }
        return digest(of: bytes, type)
    }

    /// Returns the digest of the body in a log of a browser.
    func digest(of data: HTTPArchive.PostData) -> String? {
        data.text.flatMap { digest(of: Array($0.utf8), data.mimeType) }
    }

    private func digest(of bytes: [UInt8], _ type: String?) -> String? {
        let type = type.map { $0.prefix { $0 != ";" }.lowercased().filter { $0 != " " } } ?? ""
        // The boundary of a multipart form is random.
        guard !bytes.isEmpty, !type.hasPrefix("multipart/") else { return nil }
        var compared = bytes
        // A secret would be found from its digest, and is another one in another environment.
        if let text = UTF8Text.plain(bytes[...]), let redacted = redaction.body(text, mediaType: type) {
            compared = Array(redacted.utf8)
        }
        compared = CodableJSON(compared).flatMap { try? $0.encoded() } ?? compared
        // Base64 has one text for each sequence of bytes.
        return String(SHA256Hash.hexadecimal(of: Base64.text(compared)).prefix(32))
    }

    /// Returns the entry of a response, without its body.
    /// - Parameters:
    ///   - date: The time of the request, in milliseconds since 1970.
    ///   - wait: The time until the head had arrived.
    func entry(
        _ request: HTTPDNSClient.Request,
        _ response: HTTPDNSClient.Response,
        date: Int64,
        wait: Duration
    ) -> HTTPArchive.Entry {
        let url = text(of: request.url, without: excludedItems)
        let exchange = response.exchanges.last
        let version = response.version.description
        let (connect, tls) = (exchange?.timings.connect, exchange?.timings.tls)
        let resolve = exchange?.resolve
        let before = [connect, tls, resolve].reduce(0) { $0 + ($1?.inMilliseconds ?? 0) }
        var entry = HTTPArchive.Entry(
            startedDateTime: HTTPArchive.dateText(of: date),
            time: wait.inMilliseconds,
            request: HTTPArchive.Request(
                method: request.method.rawValue,
                url: url,
                httpVersion: version,
                headers: recorded(request.headerFields),
                queryString: RecordedURL.items(of: url),
                bodySize: request.body.declaredLength ?? -1
            ),
            response: HTTPArchive.Response(
                status: response.status.code,
                statusText: response.status.reasonPhrase,
                httpVersion: version,
                headers: recorded(response.headerFields),
                content: HTTPArchive.Content(
                    size: 0,
                    mimeType: response.headerFields.singleton(.contentType)?.value ?? ""
                ),
                redirectURL: recorded(response.headerFields).first { $0.name.lowercased() == "location" }?.value ?? "",
                bodySize: -1
            ),
            timings: HTTPArchive.Timings(
                dns: resolve?.inMilliseconds ?? -1,
                // The time of TLS is part of it (HAR 1.2, timings).
                connect: connect.map { $0.inMilliseconds + (tls?.inMilliseconds ?? 0) } ?? -1,
                ssl: tls?.inMilliseconds ?? -1,
                send: 0,
                wait: max(0, wait.inMilliseconds - before),
                receive: 0
            ),
            serverIPAddress: exchange.map { $0.remote.address.description }
        )
        entry.request.bodyDigest = digest(of: request)
        return entry
    }

    /// Returns the recorded form of a body.
    /// - Parameter type: The media type.
    func content(_ bytes: [UInt8], of type: String, isIncomplete: Bool) -> HTTPArchive.Content {
        let essence = type.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        guard redaction.isOn else { return RecordingState.content(bytes, of: type) }
        if essence.hasPrefix("multipart/") {
            guard let parts = redaction.multipart(bytes, isTruncated: isIncomplete) else {
                // It cannot be recorded without its secrets.
                return HTTPArchive.Content(size: Int64(bytes.count), mimeType: type)
            }
            return RecordingState.content(parts, of: type)
        }
        let characters = isIncomplete ? UTF8Text.wholeCharacters(bytes) : bytes[...]
        guard let text = UTF8Text.plain(characters), let redacted = redaction.body(text, mediaType: essence) else {
            return RecordingState.content(bytes, of: type)
        }
        return RecordingState.content(redacted == text ? bytes : Array(redacted.utf8), of: type)
    }

    private func recorded(_ fields: HTTPFields) -> [HTTPArchive.Pair] {
        fields.compactMap { field in
            guard !options.excludedFields.contains(field.name) else { return nil }
            let redacted = HTTPField(name: field.name, lenientValue: redaction.bytes(of: field))
            guard fieldsWithURL.contains(field.name) else { return HTTPArchive.Pair(redacted) }
            let reference = redacted.uriReference
            let text = RecordedURL.text(reference, without: excludedItems)
            return HTTPArchive.Pair(text == reference ? redacted : HTTPField(name: field.name, value: text))
        }
    }
}

extension Duration {
    /// The duration in milliseconds.
    var inMilliseconds: Double { inSeconds * 1000 }
}

extension RecordedResponse {
    /// Returns the response.
    /// - Parameter file: The file of the recording, for errors.
    func response(_ file: String) -> HTTPDNSClient.Response {
        var fields = HTTPFields()
        for pair in head.headers {
            // Browsers record the pseudo-fields of HTTP/2, which are no header fields.
            if let name = HTTPField.Name(pair.name) { fields.append(pair.field(name)) }
        }
        let versions: [HTTPDNSClient.HTTPVersion] = [.http10, .http2]
        let isHTTP2 = head.httpVersion.lowercased() == "h2" || head.httpVersion.lowercased() == "http/2.0"
        let version = isHTTP2 ? .http2 : versions.first { $0.description == head.httpVersion } ?? .http11
        let status = HTTPResponse.Status(code: head.status, reasonPhrase: head.statusText)
        return HTTPDNSClient.Response(
            head: HTTPResponse(status: status, headerFields: fields),
            version: version,
            body: isIncomplete ? .stream(IncompleteBody(bytes: body, file: file), length: nil) : .bytes(body)
        )
    }
}

/// The recorded start of a body, and then an error.
private struct IncompleteBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let bytes: [UInt8]
    let file: String

    struct AsyncIterator: AsyncIteratorProtocol {
        var bytes: [UInt8]
        let file: String

        mutating func next() async throws -> [UInt8]? {
            guard bytes.isEmpty else {
                defer { bytes = [] }
                return bytes
            }
            throw HTTPDNSRecording.Error(
                .incompleteBody,
                "the recording has only the start of this body: the caller read no more of it, it was above "
                    + "maximumBody, or the file was exported without bodies",
                file: file
            )
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: bytes, file: file) }
}
