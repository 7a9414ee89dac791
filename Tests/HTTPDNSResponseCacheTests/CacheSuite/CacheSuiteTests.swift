// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSPrimitives
import HTTPDNSResponseCache
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

@Suite("The public test suite for caches", .timeLimit(.minutes(5)))
struct CacheSuiteTests {
    @Test("Each case of the suite has its outcome, and each required one passes", arguments: CacheSuiteCase.all)
    func outcome(_ row: CacheSuiteCase) async throws {
        for mode in [HTTPDNSClient.ResponseCache.Mode.shared, .private] {
            let isOwn = mode == .private
            guard row.scope == .both || (row.scope == .private) == isOwn else { continue }
            let expected = isOwn ? row.outcome.own : row.outcome.shared
            let isDeparture = CacheSuiteCase.departures.contains(row.id)
            #expect(row.kind != .required || expected != isDeparture, "a required case is allowed to fail")
            let failure = try await CacheSuiteRun(row.steps).failure(mode)
            #expect((failure == nil) == expected, "\(mode): \(failure ?? "passes")")
        }
    }

    @Test("The page of conformance has the outcome of each case")
    func page() throws {
        let page = try Repository.text("Docs/Conformance.md")
        let missing = CacheSuiteCase.all.map(\.row).filter { !page.contains("\n\($0)\n") }
        #expect(missing.isEmpty, "\(missing.joined(separator: "\n"))")
        #expect(CacheSuiteCase.all.count == 350 && Set(CacheSuiteCase.all.map(\.id)).count == 350)
    }
}

/// A run of one case.
struct CacheSuiteRun {
    private struct Step: Sendable {
        var method = HTTPRequest.Method.get
        var path = "/page"
        var status = 200
        var body = "body"
        var isClosed = false
        var isPaused = false
        var request: [(String, String)] = []
        var response: [(String, String)] = []
        var source: String?
        var expectedStatus: Int?
        var expectedText: String?
        var expectedFields: [(String, String)] = []
        var missingFields: [String] = []
        var sentFields: [(String, String)] = []
        var unsentFields: [String] = []
        var interimStatus: Int?

        init(_ text: Substring) {
            for part in text.split(separator: ";") {
                let part = part.drop { $0 == " " }
                take(String(part))
            }
        }

        private mutating func take(_ part: String) {
            let rest = String(part.dropFirst())
            switch part.first {
            case ">": request.append(Self.field(rest))
            case "=": source = Self.trimmed(rest)
            case "~": expectedFields.append(Self.field(rest))
            case "!": missingFields.append(Self.trimmed(rest))
            case "<" where rest.hasPrefix("!"): unsentFields.append(Self.trimmed(String(rest.dropFirst())))
            case "<": sentFields.append(Self.field(rest))
            default: takeWord(part)
            }
        }

        private mutating func takeWord(_ part: String) {
            let words = part.split(separator: " ", maxSplits: 1).map(String.init)
            let value = words.count > 1 ? Self.trimmed(words[1]) : ""
            switch words.first {
            case "pause": isPaused = true
            case "close": isClosed = true
            case "method": method = HTTPRequest.Method(rawValue: value) ?? .get
            case "path": path = value
            case "status": status = Int(value) ?? 0
            case "body": body = value
            case "expect": expectedStatus = Int(value)
            case "text": expectedText = value
            case "interim": interimStatus = Int(value)
            default: if !part.isEmpty { response.append(Self.field(part)) }
            }
        }

        private static func trimmed(_ text: String) -> String {
            String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }

        private static func field(_ text: String) -> (String, String) {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (trimmed(String(parts[0])), parts.count > 1 ? trimmed(String(parts[1])) : "")
        }

        /// Whether the server answers that nothing was modified.
        var isValidated: Bool { source == "etag" || source == "lm" || source == nil && expectedStatus == 304 }
    }

    private let steps: [Step]

    init(_ text: String) { steps = text.split(separator: "|").map(Step.init) }

    /// Returns the first expectation that a cache does not meet; nil when it meets all.
    func failure(_ mode: HTTPDNSClient.ResponseCache.Mode) async throws -> String? {
        let current = Lock(0)
        let steps = steps
        let origin = ScriptedOrigin { request, _ in
            let step = steps[current.withLock { $0 }]
            if step.isClosed { throw TransferFailureSample.closed }
            if let status = step.interimStatus {
                request.interim?.add(ResponseHead(HTTPResponse(status: HTTPResponse.Status(code: status))))
            }
            let isConditional =
                request.headerFields.contains(.ifNoneMatch) || request.headerFields.contains(.ifModifiedSince)
            let isNotModified = step.isValidated && isConditional
            var answer = Scripted(
                step.status == 204 || request.method == .head || isNotModified ? "" : step.body,
                status: HTTPResponse.Status(code: isNotModified ? 304 : step.status)
            )
            answer.fields = Self.fields(step.response)
            return answer.answer(to: request)
        }
        let client = try await CachedClient(origin) { $0.mode = mode }
        for (number, step) in steps.enumerated() {
            current.withLock { $0 = number }
            if let failure = try await failure(of: step, client) { return "step \(number + 1): \(failure)" }
            if step.isPaused { client.time.move(seconds: 3) }
        }
        return nil
    }

    private func failure(of step: Step, _ client: CachedClient) async throws -> String? {
        let before = client.origin.count
        var request = HTTPDNSClient.Request(method: step.method, url: "http://one.test\(step.path)")
        request.headerFields = Self.fields(step.request)
        request.options.decodesBody = false
        request.options.redirects = .never
        let interim = Lock<[Int]>([])
        request.onInterimResponse = { response in interim.withLock { $0.append(response.status.code) } }
        let response: HTTPDNSClient.Response
        do {
            response = try await client.client.execute(request)
        } catch {
            return step.isClosed && step.source == "sent" ? nil : "\(error)"
        }
        let text = String(decoding: try await response.body.collect(upTo: .mebibytes(1)), as: UTF8.self)
        let expectedInterim = step.interimStatus.map { [$0] } ?? []
        // They are delivered beside the response.
        if !expectedInterim.isEmpty { try await until { interim.withLock { !$0.isEmpty } } }
        if interim.withLock({ $0 }) != expectedInterim { return "interim \(interim.withLock { $0 })" }
        if let failure = failure(
            of: step,
            source: response,
            sent: client.origin.requests.dropFirst(before).first?.headerFields
        ) {
            return failure
        }
        if let expected = step.expectedStatus, response.status.code != expected {
            return "status \(response.status.code)"
        }
        if let expected = step.expectedText, text != expected { return "body \(text)" }
        for (name, value) in Self.fields(step.expectedFields).map({ ($0.name, $0.value) })
        where !response.headerFields[values: name].contains(value) {
            return "\(name): \(response.headerFields[name] ?? "-")"
        }
        for name in step.missingFields.compactMap({ HTTPField.Name($0) }) where response.headerFields.contains(name) {
            return "\(name) is there"
        }
        return nil
    }

    private func failure(of step: Step, source response: HTTPDNSClient.Response, sent: HTTPFields?) -> String? {
        let source = response.cacheSource
        switch step.source {
        case "hit": if source != .hit || sent != nil { return "source \(source?.description ?? "-")" }
        case "stale": if source != .stale { return "source \(source?.description ?? "-")" }
        case "sent":
            if source == .hit || source == .stale || sent == nil { return "source \(source?.description ?? "-")" }
        case "etag": if source != .validated || sent?.contains(.ifNoneMatch) != true { return "no validation" }
        case "lm": if source != .validated || sent?.contains(.ifModifiedSince) != true { return "no validation" }
        default: break
        }
        for field in Self.fields(step.sentFields) where sent?[values: field.name].contains(field.value) != true {
            return "sent \(field.name): \(sent?[field.name] ?? "-")"
        }
        for name in step.unsentFields.compactMap({ HTTPField.Name($0) }) where sent?.contains(name) == true {
            return "\(name) was sent"
        }
        return nil
    }

    private static func fields(_ pairs: [(String, String)]) -> HTTPFields {
        var fields: HTTPFields = [:]
        for (name, value) in pairs {
            guard let name = HTTPField.Name(name) else { continue }
            let isDate = value.hasPrefix("@")
            let seconds = isDate ? Int64(value.dropFirst()) ?? 0 : 0
            fields.append(HTTPField(name: name, value: isDate ? date(seconds) : value))
        }
        return fields
    }

    /// Returns a date by its distance from the first request, in the form of HTTP.
    private static func date(_ seconds: Int64) -> String {
        let time = 784_111_777 + seconds
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
