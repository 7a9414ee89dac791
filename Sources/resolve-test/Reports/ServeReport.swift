// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
#if LocalProvider
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSLocalProvider
internal import HTTPDNSPrimitives

/// The output of `serve` while it runs: a line, or with `--json` an object, for each event.
struct ServeReport: Sendable {
    var file: String
    var output: OutputOptions
    var console: Console

    /// Reports that queries are accepted, with the address.
    func tell(_ listener: HTTPDNSProviderServer.Listener, certificateFile: String?) {
        if let certificateFile, let certificate = listener.certificate {
            do throws(FileFault) {
                let file = try ReplacedFile(certificateFile)
                try file.append(Array(certificate.utf8))
                try file.finish()
            } catch {
                let path = PrintableText.line(certificateFile)
                console.standardError.say("resolve-test: \(path) cannot be written: \(error.reason)\n")
            }
        }
        if output.isJSON {
            write(
                .object([
                    "event": .text("listening"), "url": .text(listener.url),
                    "address": .text("\(listener.address)"), "port": .integer(Int(listener.port)),
                    "mappings": .integer(listener.ruleCount), "answerScope": .text("\(listener.answerScope)"),
                ])
            )
            return
        }
        let count = listener.ruleCount
        write("listening  \(listener.url)   \(count) mapping\(count == 1 ? "" : "s") of \(PrintableText.line(file))\n")
        write("  DoH /dns-query   JSON /resolve /dns-query /alidns/resolve   Alibaba /v2/d /ACCOUNT/d   Tencent /d\n")
        if listener.answerScope != .public {
            let scope = min(listener.answerScope, .loopback)
            console.standardError.say(
                "note: there are \(scope) addresses; clients need answer_scope: \(scope) for this provider, "
                    + "or --answer-scope \(scope)\n"
            )
        }
        if HTTPDNSAddressPolicy.Scope(of: listener.address) != .loopback {
            console.standardError.say("note: \(listener.address) may be reached by other machines\n")
        }
    }

    func tell(_ query: HTTPDNSProviderServer.Query) {
        output.isJSON ? write(Self.json(query)) : write(Self.text(query, isVerbose: output.isVerbose))
    }

    /// Reports that the file was read again.
    func tell(reloadError error: (any Error)?) {
        if output.isJSON {
            write(
                .object([
                    "event": .text("reload"), "done": .bool(error == nil),
                    "error": .optional(error.map { "\($0)" }),
                ])
            )
        } else if let error {
            write("reload     failed, the previous mappings stay: \(PrintableText.line("\(error)"))\n")
        } else {
            write("reload     \(PrintableText.line(file)) is in use\n")
        }
    }

    /// Returns `14:02:11 alibaba-v2 img.shop.test v4,v6 signed cbc 200 ok 2 addresses`.
    static func text(_ query: HTTPDNSProviderServer.Query, isVerbose: Bool, clock: ClockText = .local) -> String {
        var words = [
            clock.text(date(query)), query.protocolName, query.hosts.isEmpty ? "-" : query.hosts.joined(separator: ","),
            query.families,
        ]
        if query.isSigned { words.append("signed") }
        if let encryption = query.encryption { words.append(encryption) }
        words += ["\(query.status)", query.outcome]
        if query.outcome == "ok" { words.append("\(query.addressCount) address\(query.addressCount == 1 ? "" : "es")") }
        if let delay = query.delay { words.append("after \(Figures.phase(delay))") }
        if isVerbose, let client = query.client { words.append("from \(client)") }
        if let advice = query.advice { words.append("(\(advice))") }
        return PrintableText.line(words.joined(separator: " ")) + "\n"
    }

    private static func json(_ query: HTTPDNSProviderServer.Query) -> JSONValue {
        .object([
            "event": .text("query"), "time": .text(ClockText.universal(date(query))),
            "protocol": .text(query.protocolName), "hosts": .array(query.hosts.map(JSONValue.text)),
            "families": .text(query.families), "client": .optional(query.client), "signed": .bool(query.isSigned),
            "encryption": .optional(query.encryption), "status": .integer(query.status),
            "outcome": .text(query.outcome), "advice": .optional(query.advice),
            "addresses": .integer(query.addressCount), "delay": .seconds(query.delay),
        ])
    }

    private static func date(_ query: HTTPDNSProviderServer.Query) -> Date {
        Date(timeIntervalSince1970: Double(query.milliseconds) / 1000)
    }

    private func write(_ value: JSONValue) { write(value.oneLine + "\n") }

    /// Queries are still answered after the output was closed.
    private func write(_ text: String) { _ = try? console.standardOutput.write(text) }
}
#endif
#endif
