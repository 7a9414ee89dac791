// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
package import HTTPTypes

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A log of HTTP exchanges in the format HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/).
///
/// Members that the format permits and this type does not have are ignored when a file is read. Members that the format demands
/// and logs of browsers lack have a value without a meaning.
package struct HTTPArchive: Hashable, Sendable, Codable {
    package var log: Log

    package init(entries: [Entry]) {
        log = Log(version: "1.2", creator: .library, entries: entries)
    }

    /// Returns a time in ISO 8601, in UTC and with milliseconds.
    /// - Parameter time: Milliseconds since 1970-01-01 00:00 UTC.
    package static func dateText(of time: Int64) -> String {
        // The style cuts the fraction off, which a Double may have just below the millisecond.
        // Years have four digits.
        let time = min(max(time, -62_135_596_800_000), 253_402_300_799_999)
        return Date(timeIntervalSince1970: (Double(time) + 0.5) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    package struct Log: Hashable, Sendable, Codable {
        package var version: String
        package var creator: Creator
        package var entries: [Entry]
    }

    package struct Creator: Hashable, Sendable, Codable {
        package var name: String
        package var version: String

        /// This library.
        package static var library: Creator { Creator(name: "swift-httpdns", version: "0.1.0") }
    }

    /// One request and its response.
    package struct Entry: Hashable, Sendable, Codable {
        /// The time of the request in ISO 8601, with milliseconds.
        package var startedDateTime: String
        /// The whole time, in milliseconds; nil for a request that had not ended.
        package var time: Double?
        package var request: Request
        package var response: Response
        package var cache = Cache()
        package var timings: Timings
        /// The address of the server.
        package var serverIPAddress: String?

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            startedDateTime = try members.decodeIfPresent(String.self, forKey: .startedDateTime) ?? ""
            time = try members.decodeIfPresent(Double.self, forKey: .time)
            request = try members.decode(Request.self, forKey: .request)
            response = try members.decode(Response.self, forKey: .response)
            timings =
                try members.decodeIfPresent(Timings.self, forKey: .timings)
                ?? Timings(dns: nil, connect: nil, ssl: nil, send: -1, wait: -1, receive: -1)
            serverIPAddress = try members.decodeIfPresent(String.self, forKey: .serverIPAddress)
        }

        package init(
            startedDateTime: String,
            time: Double,
            request: Request,
            response: Response,
            timings: Timings,
            serverIPAddress: String? = nil
        ) {
            self.startedDateTime = startedDateTime
            self.time = time
            self.request = request
            self.response = response
            self.timings = timings
            self.serverIPAddress = serverIPAddress
        }
    }

    /// The use of a cache. It is always empty.
    package struct Cache: Hashable, Sendable, Codable {
        package init() {}
    }

    /// A name and a value, of a header field or a query item.
    package struct Pair: Hashable, Sendable, Codable {
        package var name: String
        package var value: String
        /// Whether the value has a character for each byte (ISO-8859-1), because they are not UTF-8; nil for no.
        package var isLatin1: Bool?

        private enum CodingKeys: String, CodingKey {
            case name, value
            // The format reserves names with an underscore for programs.
            case isLatin1 = "_latin1"
        }

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }

        /// Creates the pair of a header field without secrets.
        package init(_ field: HTTPField) {
            let latin1 = field.latin1Text
            self.init(field.name.rawName, latin1 ?? field.value)
            if latin1 != nil { isLatin1 = true }
        }

        /// Returns the header field of the pair, with the name of that field.
        package func field(_ name: HTTPField.Name) -> HTTPField {
            guard isLatin1 == true else { return HTTPField(name: name, value: value) }
            return HTTPField(name: name, lenientValue: value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        }
    }

    package struct Request: Hashable, Sendable, Codable {
        package var method: String
        package var url: String
        package var httpVersion: String
        /// Always empty: cookies are header fields.
        package var cookies: [Pair] = []
        package var headers: [Pair]
        package var queryString: [Pair]
        /// The body, if it is recorded and a text.
        package var postData: PostData?
        /// -1: not measured.
        package var headersSize: Int64 = -1
        /// The bytes of the body; -1 when not known.
        package var bodySize: Int64
        /// A digest of the body, by which a recording tells requests apart; nil without a body.
        package var bodyDigest: String?

        package enum CodingKeys: String, CodingKey {
            case method, url, httpVersion, cookies, headers, queryString, postData, headersSize, bodySize
            // The format reserves names with an underscore for programs.
            case bodyDigest = "_bodyDigest"
        }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            method = try members.decode(String.self, forKey: .method)
            url = try members.decode(String.self, forKey: .url)
            httpVersion = try members.decodeIfPresent(String.self, forKey: .httpVersion) ?? ""
            headers = try members.decode([Pair].self, forKey: .headers)
            queryString = try members.decodeIfPresent([Pair].self, forKey: .queryString) ?? []
            postData = try members.decodeIfPresent(PostData.self, forKey: .postData)
            headersSize = try members.decodeIfPresent(Int64.self, forKey: .headersSize) ?? -1
            bodySize = try members.decodeIfPresent(Int64.self, forKey: .bodySize) ?? -1
            bodyDigest = try members.decodeIfPresent(String.self, forKey: .bodyDigest)
        }

        package init(
            method: String,
            url: String,
            httpVersion: String,
            headers: [Pair],
            queryString: [Pair],
            bodySize: Int64
        ) {
            self.method = method
            self.url = url
            self.httpVersion = httpVersion
            self.headers = headers
            self.queryString = queryString
            self.bodySize = bodySize
        }
    }

    /// The body of a request. Logs of other programs may have the parameters of a form in place of the text.
    package struct PostData: Hashable, Sendable, Codable {
        package var mimeType: String?
        package var text: String?

        package init(mimeType: String, text: String) { (self.mimeType, self.text) = (mimeType, text) }
    }

    package struct Response: Hashable, Sendable, Codable {
        package var status: Int
        package var statusText: String
        package var httpVersion: String
        /// Always empty: cookies are header fields.
        package var cookies: [Pair] = []
        package var headers: [Pair]
        package var content: Content
        package var redirectURL: String
        /// -1: not measured.
        package var headersSize: Int64 = -1
        /// The bytes of the body as received; -1 when not known.
        package var bodySize: Int64

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            status = try members.decode(Int.self, forKey: .status)
            statusText = try members.decodeIfPresent(String.self, forKey: .statusText) ?? ""
            httpVersion = try members.decodeIfPresent(String.self, forKey: .httpVersion) ?? ""
            headers = try members.decode([Pair].self, forKey: .headers)
            content =
                try members.decodeIfPresent(Content.self, forKey: .content) ?? Content(size: 0, mimeType: "")
            redirectURL = try members.decodeIfPresent(String.self, forKey: .redirectURL) ?? ""
            headersSize = try members.decodeIfPresent(Int64.self, forKey: .headersSize) ?? -1
            bodySize = try members.decodeIfPresent(Int64.self, forKey: .bodySize) ?? -1
        }

        package init(
            status: Int,
            statusText: String,
            httpVersion: String,
            headers: [Pair],
            content: Content,
            redirectURL: String,
            bodySize: Int64
        ) {
            self.status = status
            self.statusText = statusText
            self.httpVersion = httpVersion
            self.headers = headers
            self.content = content
            self.redirectURL = redirectURL
            self.bodySize = bodySize
        }
    }

    /// The body of a response, after decoding.
    package struct Content: Hashable, Sendable, Codable {
        package var size: Int64
        package var mimeType: String
        package var text: String?
        /// `base64`; nil for a text.
        package var encoding: String?
        /// True when the body is only the start of what the server would have sent; nil otherwise.
        package var isIncomplete: Bool?

        package enum CodingKeys: String, CodingKey {
            case size, mimeType, text, encoding
            // The format reserves names with an underscore for programs.
            case isIncomplete = "_incomplete"
        }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            size = try members.decodeIfPresent(Int64.self, forKey: .size) ?? 0
            mimeType = try members.decodeIfPresent(String.self, forKey: .mimeType) ?? ""
            text = try members.decodeIfPresent(String.self, forKey: .text)
            encoding = try members.decodeIfPresent(String.self, forKey: .encoding)
            isIncomplete = try members.decodeIfPresent(Bool.self, forKey: .isIncomplete)
        }

        package init(size: Int64, mimeType: String, text: String? = nil, encoding: String? = nil) {
            (self.size, self.mimeType, self.text, self.encoding) = (size, mimeType, text, encoding)
        }
    }

    /// The durations of the phases in milliseconds; -1 for a phase that did not happen or was not measured.
    package struct Timings: Hashable, Sendable, Codable {
        /// The time before the phases, such as the wait for a connection; nil when it was not measured.
        package var blocked: Double?
        package var dns: Double?
        package var connect: Double?
        package var ssl: Double?
        package var send: Double
        package var wait: Double
        package var receive: Double

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            func time(_ key: CodingKeys) throws -> Double? { try members.decodeIfPresent(Double.self, forKey: key) }
            (blocked, dns, connect, ssl) = (try time(.blocked), try time(.dns), try time(.connect), try time(.ssl))
            (send, wait, receive) = (try time(.send) ?? -1, try time(.wait) ?? -1, try time(.receive) ?? -1)
        }

        package init(
            blocked: Double? = nil,
            dns: Double?,
            connect: Double?,
            ssl: Double?,
            send: Double,
            wait: Double,
            receive: Double
        ) {
            self.blocked = blocked
            self.dns = dns
            self.connect = connect
            self.ssl = ssl
            self.send = send
            self.wait = wait
            self.receive = receive
        }

        /// The sum of the phases: the time of TLS is part of ``connect``.
        package var sum: Double {
            [blocked, dns, connect, send, wait, receive].reduce(0) { $0 + max(0, $1 ?? 0) }
        }
    }
}
