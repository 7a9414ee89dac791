// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPTypes

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
        let name: HTTPField.Name
        private let value: String

        init?(_ text: Substring) {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = HTTPField.Name(String(parts[0])) else { return nil }
            self.name = name
            value = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        }

        /// - Parameter time: The seconds since 1970 that a date is counted from.
        func field(at time: Int64) -> HTTPField {
            if value.hasPrefix("@"), let seconds = Int64(value.dropFirst()) {
                return HTTPField(name: name, value: CacheSuiteStep.date(time + seconds))
            }
            var (bytes, rest) = ([UInt8](), value.utf8[...])
            while let byte = rest.popFirst() {
                let digits = String(rest.prefix(2)) ?? ""
                if byte == UInt8(ascii: "\\"), digits.utf8.count == 2, let escaped = UInt8(digits, radix: 16) {
                    bytes.append(escaped)
                    rest = rest.dropFirst(2)
                } else {
                    bytes.append(byte)
                }
            }
            return HTTPField(name: name, lenientValue: bytes)
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
        let words = part.split(separator: " ", maxSplits: 1).map(String.init)
        let value = words.count > 1 ? words[1] : ""
        switch words[0] {
        case "pause": isPaused = true
        case "close": isClosed = true
        case "refresh": isRefreshed = true
        case "method": method = HTTPRequest.Method(rawValue: value) ?? .get
        case "path": path = value
        case "status": status = Int(value) ?? 0
        case "delay": delay = Int64(value) ?? 0
        case "body": body = value
        case "expect": expectedStatus = Int(value)
        case "text": expectedText = value
        case "interim": interimStatus = Int(value)
        default:
            guard words[0].hasSuffix(":"), let field = Field(part) else { return false }
            response.append(field)
        }
        return true
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
