// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPTypes

/// The content codings that a response head declares, in the order in which the server applied them (RFC 9110 section 8.4).
struct DeclaredCodings: Hashable, Sendable {
    /// A content coding (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).
    enum Coding: Hashable, Sendable {
        case gzip, deflate, brotli, zstandard
        /// A coding of another name.
        case unknown
    }

    /// The maximum number of codings. It is libcurl's (`MAX_ENCODE_STACK`); servers apply one.
    static let maximum = 5

    /// At most one more than ``maximum``.
    private(set) var codings: [Coding] = []

    /// - Parameter fields: The header fields of the response. Several `Content-Encoding` fields count as one list.
    init(_ fields: HTTPFields) {
        for value in fields[values: .contentEncoding] {
            for member in value.split(separator: ",") {
                let name = member.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }.lowercased()
                switch name {
                // Some servers write `none` for no coding; libcurl accepts it too.
                case "", "identity", "none": continue
                case "gzip", "x-gzip": codings.append(.gzip)
                case "deflate": codings.append(.deflate)
                case "br": codings.append(.brotli)
                case "zstd": codings.append(.zstandard)
                default: codings.append(.unknown)
                }
                if codings.count > DeclaredCodings.maximum { return }
            }
        }
    }
}
