internal import HTTPDNSCore
internal import HTTPTypes

/// The time that a server asks the client to wait (`Retry-After`, RFC 9110 section 10.2.3).
enum RetryAfter {
    /// - Parameter now: Seconds since 1970, for a date in a response without a `Date` field: two clocks may differ.
    /// - Returns: Nil without the field, and when it is neither a number of seconds nor a date.
    static func wait(in fields: HTTPFields, now: Int64) -> Duration? {
        guard let value = fields[.retryAfter] else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // A number that overflows means a very long time.
            return .seconds(Int64(value) ?? Int64(UInt32.max))
        }
        guard let date = HTTPDate.seconds(value) else { return nil }
        return .seconds(max(0, date - (fields[.date].flatMap(HTTPDate.seconds) ?? now)))
    }
}
