// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

@testable internal import HTTPDNSTesting

extension FuzzTarget {
    /// A captured response, and the same bytes as a Mocktail file: they come from other programs, and from editors.
    static let capturedMessage = FuzzTarget(name: "captured-message") { bytes in
        let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
        do throws(HTTPDNSStubs.AnswerError) {
            let message = try CapturedMessage(bytes)
            precondition((200...599).contains(message.status.code) && message.body.count <= bytes.count)
            precondition(message.fields.allSatisfy { !$0.value.contains("\n") && !$0.value.contains("\r") })
        } catch {
            precondition(error.code == .malformedMessage && (1...lines).contains(error.line ?? 0))
        }
        do throws(HTTPDNSStubs.AnswerError) {
            _ = try HTTPDNSStubs.Mocktail(bytes, file: "a.tail")
        } catch {
            precondition(error.code == .malformedMocktail && (1...lines).contains(error.line ?? 0))
        }
    }
}
