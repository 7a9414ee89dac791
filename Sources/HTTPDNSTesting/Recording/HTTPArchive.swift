// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A log of HTTP exchanges in the format HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/).
///
/// Members that the format permits and this type does not have are ignored when a file is read.
package struct HTTPArchive: Hashable, Sendable, Codable {
    package var log: Log

    package init(entries: [Entry]) {
        log = Log(version: "1.2", creator: Creator(name: "swift-httpdns", version: "0.1.0"), entries: entries)
    }

    package struct Log: Hashable, Sendable, Codable {
        package var version: String
        package var creator: Creator
        package var entries: [Entry]
    }

    package struct Creator: Hashable, Sendable, Codable {
        package var name: String
        package var version: String
    }

    /// One request and its response.
    package struct Entry: Hashable, Sendable, Codable {
        /// The time of the request in ISO 8601, with milliseconds.
        package var startedDateTime: String
        /// The whole time, in milliseconds.
        package var time: Double
        package var request: Request
        package var response: Response
        package var cache = Cache()
        package var timings: Timings
        /// The address of the server.
        package var serverIPAddress: String?
    }

    /// The use of a cache. It is always empty.
    package struct Cache: Hashable, Sendable, Codable {
        package init() {}
    }

    /// A name and a value, of a header field or a query item.
    package struct Pair: Hashable, Sendable, Codable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
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
        /// -1: not measured.
        package var headersSize = -1
        /// The bytes of the body; -1 when not known.
        package var bodySize: Int64
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
        package var headersSize = -1
        /// The bytes of the body as received; -1 when not known.
        package var bodySize: Int64
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
    }

    /// The durations of the phases in milliseconds; -1 for a phase that did not happen or was not measured.
    package struct Timings: Hashable, Sendable, Codable {
        package var dns: Double?
        package var connect: Double?
        package var ssl: Double?
        package var send: Double
        package var wait: Double
        package var receive: Double
    }
}
