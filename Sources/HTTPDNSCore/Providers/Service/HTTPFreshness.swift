// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The remaining life of a record when its message arrives, by the HTTP response that carries it.
struct HTTPFreshness: Hashable {
    /// The seconds that caches on the path have held the response (RFC 9111 section 5.1).
    let age: Int64
    /// The seconds that the response may be reused, where the service sends them (RFC 9111 section 5.2.2.1). 0 is ignored:
    /// gateways and web frameworks add `no-cache, max-age=0` to every response, and the records have lives of their own.
    let maximumAge: Int64?

    /// Reads `Age` and `Cache-Control`. An age that is not a number of seconds is ignored (RFC 9111 section 5.1). The first of
    /// several ages and the least of several `max-age` count.
    init(_ fields: HTTPFields) {
        let firstAge = fields.singleton(.age)?.value.split(separator: ",", omittingEmptySubsequences: false).first
        age = firstAge.flatMap { CacheControl.seconds(String(decoding: $0.utf8.trimmed, as: UTF8.self)) } ?? 0
        maximumAge = fields[values: .cacheControl].flatMap(CacheControl.directives)
            .compactMap { $0.name == "max-age" ? $0.value.flatMap(CacheControl.seconds) : nil }
            .filter { $0 > 0 }
            .min()
    }

    /// Returns the remainder of a life of `seconds`, at least zero.
    func remaining(of seconds: UInt32) -> Duration {
        let life = min(Int64(seconds), maximumAge ?? .max)
        return .seconds(max(0, life - age))
    }
}
