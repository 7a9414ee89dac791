// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// One request of a case: what the client sends, what the server answers, and what both receive.
///
/// The parts are separated by `; `, a semicolon and a blank:
/// - `name: value` is a field of the response, `>name: value` one of the request, `^name: value` one of the interim response.
///   `@60` is the date in 60 s: after the step in a response, after the first step elsewhere. `\3B` is the byte 3B.
/// - `=sent`, the default, expects the response of the server to one request, `=hit` a stored one without a request, `=stale`
///   a stored one that is not fresh, `=etag` and `=lm` a stored one after one request with this validator, and `=unavailable`
///   no response and no request.
/// - `~name: value` expects a field in the response, `!name` its absence; `<name: value` a field that reaches the server.
/// - `method X`, `path /x`, `status N`, `body x`, `close`, `delay N` (seconds) say what is sent and answered; `expect N` and
///   `text x` what is received.
/// - `interim N` is a response before the one of the step, which the client receives. Without it the client receives none.
/// - `refresh` expects one request in the background.
/// - `pause` moves the clock by 3 s after the step.
struct CacheSuiteStep: Sendable {
    enum Source: String, Sendable {
        case sent, hit, stale, etag, lm, unavailable
    }

    /// A field before its date is known.
    struct Field: Sendable {
        private enum Value {
            case bytes([UInt8])
            /// Seconds after the time that a date is counted from.
            case date(Int64)
        }

        let name: HTTPField.Name
        private let value: Value

        /// Reads a name, a colon, one blank and a value, all of whose other blanks belong to it. A name alone has no value.
        init?(_ text: Substring) {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])), parts[1].first == " " else {
                return nil
            }
            let text = parts[1].dropFirst()
            let value =
                text.first == "@" ? Int64(text.dropFirst()).map(Value.date) : Self.bytes(text).map(Value.bytes)
            guard let value else { return nil }
            (self.name, self.value) = (name, value)
        }

        /// Returns the bytes of a value; nil when a backslash has no digits.
        private static func bytes(_ text: Substring) -> [UInt8]? {
            var (bytes, rest) = ([UInt8](), text.utf8[...])
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "\\") else {
                    bytes.append(byte)
                    continue
                }
                guard let escaped = UInt8(String(rest.prefix(2)) ?? "", radix: 16), rest.count >= 2 else { return nil }
                bytes.append(escaped)
                rest = rest.dropFirst(2)
            }
            return bytes
        }

        /// - Parameter time: The seconds since 1970 that a date is counted from.
        func field(at time: Int64) -> HTTPField {
            switch value {
            case .bytes(let bytes): HTTPField(name: name, lenientValue: bytes)
            case .date(let seconds): HTTPField(name: name, value: CacheSuiteStep.date(time + seconds))
            }
        }
    }

    private(set) var method = HTTPRequest.Method.get
    private(set) var path = "/page"
    private(set) var status = 200
    private(set) var body: String
    private(set) var isClosed = false
    private(set) var delay: Int64 = 0
    private(set) var isPaused = false
    private(set) var isRefreshed = false
    private(set) var request: [Field] = []
    private(set) var response: [Field] = []
    private(set) var interimStatus: Int?
    private(set) var interim: [Field] = []
    private(set) var source = Source.sent
    private(set) var expectedStatus: Int?
    private(set) var expectedText: String?
    private(set) var expectedFields: [Field] = []
    private(set) var missingFields: [HTTPField.Name] = []
    private(set) var sentFields: [Field] = []
    /// A part that has no meaning.
    private(set) var unknown: String?

    /// - Parameter number: The number of the step, which makes its body differ from those of others.
    init(_ text: String, number: Int) {
        body = "body \(number)"
        for part in text.split(separator: "; ") where !part.allSatisfy({ $0 == " " }) { take(part) }
        if method == .head || [204, 304].contains(status) { body = "" }
    }

    /// The number of requests that reach the server: none for a stored response, unless it replaces one that the server could
    /// not give, or is refreshed.
    var arrivalCount: Int {
        switch source {
        case .sent, .etag, .lm: 1
        case .hit, .unavailable: isRefreshed ? 1 : 0
        case .stale: isRefreshed || isClosed || status != 200 ? 1 : 0
        }
    }

    /// The interim responses that the client receives.
    var interimResponses: [HTTPResponse] {
        interimStatus.map { status in
            let fields = HTTPFields(interim.map { $0.field(at: CacheSuiteRun.start) })
            return [HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields)]
        } ?? []
    }

    /// The steps of a case.
    static func steps(_ text: String) -> [CacheSuiteStep] {
        text.split(separator: " | ").enumerated().map { CacheSuiteStep(String($0.element), number: $0.offset + 1) }
    }

    private mutating func take(_ part: Substring) {
        let rest = part.dropFirst()
        var isKnown = true
        func add(_ text: Substring, _ fields: inout [Field]) {
            if let field = Field(text) { fields.append(field) } else { isKnown = false }
        }
        switch part.first {
        case ">": add(rest, &request)
        case "^": add(rest, &interim)
        case "~": add(rest, &expectedFields)
        case "<": add(rest, &sentFields)
        case "!": if let name = HTTPField.Name(String(rest)) { missingFields.append(name) } else { isKnown = false }
        case "=": if let source = Source(rawValue: String(rest)) { self.source = source } else { isKnown = false }
        default: isKnown = takeWord(part)
        }
        if !isKnown { unknown = String(part) }
    }

    /// Returns whether a part has a meaning.
    private mutating func takeWord(_ part: Substring) -> Bool {
        switch part {
        case "pause": isPaused = true
        case "close": isClosed = true
        case "refresh": isRefreshed = true
        default:
            let words = part.split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2, takeWord(words[0], words[1]) else {
                guard let field = Field(part) else { return false }
                response.append(field)
                return true
            }
        }
        return true
    }

    /// Returns whether a word and its value have a meaning.
    private mutating func takeWord(_ word: String, _ value: String) -> Bool {
        func take<Value>(_ new: Value?, _ old: inout Value) -> Bool {
            if let new { old = new }
            return new != nil
        }
        func code() -> Int? { Int(value).flatMap { (100...999).contains($0) ? $0 : nil } }
        switch word {
        case "method": return take(HTTPRequest.Method(rawValue: value), &method)
        case "path": return take(value.hasPrefix("/") ? value : nil, &path)
        case "status": return take(code(), &status)
        case "delay": return take(Int64(value), &delay)
        case "body": return take(value, &body)
        case "expect": return take(code().map(Optional.some), &expectedStatus)
        case "text": return take(value, &expectedText)
        case "interim": return take(code().map(Optional.some), &interimStatus)
        default: return false
        }
    }

    /// Returns a date in the form of HTTP.
    private static func date(_ time: Int64) -> String {
        let (days, rest) = (Int(time) / 86_400, Int(time) % 86_400)
        // Civil date from days, by Howard Hinnant's algorithm, with years that begin in March.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let number = month < 10 ? month + 3 : month - 9
        let year = yearOfEra + era * 400 + (number <= 2 ? 1 : 0)
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let clock = [rest / 3600, rest / 60 % 60, rest % 60].map(two).joined(separator: ":")
        return "\(weekdays[days % 7]), \(two(day)) \(months[number - 1]) \(year) \(clock) GMT"
    }
}
