// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
package import HTTPTypes

/// The rules about responses that another request must not get (RFC 9111 section 3), for stored responses and for shared reads.
package enum ResponseSharing {
    /// Fields with cookies, which are for one user.
    private static let cookies = ["set-cookie", "set-cookie2"].compactMap { HTTPField.Name($0) }

    /// Whether a response has cookies.
    package static func haveCookies(_ fields: HTTPFields) -> Bool { cookies.contains { fields.contains($0) } }

    /// Whether a response is a part (206), or answers fields that only one request has: conditions (304, 412), credentials
    /// (401, 407), a range (416) or an expectation (417). It is not stored, and says nothing about a stored response.
    package static func answersOneRequest(_ status: Int) -> Bool {
        [206, 304, 401, 407, 412, 416, 417].contains(status)
    }

    /// Returns the names in `Vary`, in lower case; nil for `*`, which no request matches.
    package static func varyingNames(in fields: HTTPFields) -> [String]? {
        var names: Set<String> = []
        for element in fields[values: .vary].flatMap({ ListElements($0) }) {
            if element == "*" { return nil }
            names.insert(element.lowercased())
        }
        return names.sorted()
    }
}
