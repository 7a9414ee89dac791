// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl

// Transfers that were paused, because their reader or the source of their request was slower than the network.
extension TransportLoop {
    func resumeReading(_ handle: EasyHandle) {
        guard handle.isReadingPaused else { return }
        handle.isReadingPaused = false
        handle.unreadBytes = 0
        unpause(handle)
    }

    func resumeSending(_ handle: EasyHandle) {
        guard handle.isSendingPaused else { return }
        handle.isSendingPaused = false
        unpause(handle)
    }

    /// Resumes sending after an early response: libcurl discards the rest of the request, and sending pauses again if it has
    /// nothing.
    ///
    /// libcurl quirk: A paused sender never ends (7.88.1). After an error status libcurl never ends a transfer whose sending is
    /// paused, so the loop resumes it when the response begins. Tests: TransportStreamTests.
    func resumeAnsweredEarly() {
        pending.remove(.earlyAnswers)
        while let handle = answeredEarly.popLast() { resumeSending(handle) }
    }

    func noteEarlyAnswer(_ handle: EasyHandle) {
        answeredEarly.append(handle)
        pending.insert(.earlyAnswers)
    }

    /// Resumes both directions: curl_easy_pause sets them together, and may call back before it returns.
    private func unpause(_ handle: EasyHandle) {
        handle.activeAt = now
        deadlineMayBeEarlier(for: handle)
        var directions: Int32 = 0
        if handle.isReadingPaused { directions |= CURLPAUSE_RECV }
        if handle.isSendingPaused { directions |= CURLPAUSE_SEND }
        handle.isTakingKept = !handle.isReadingPaused
        let code = curl_easy_pause(handle.curl, directions)
        handle.isTakingKept = false
        // libcurl quirk: Kept-back data arrives in the call (7.88.1). `curl_easy_pause` delivers kept-back data before it
        // returns. The body callback accepts it all, and the loop ends the transfer after an error.
        // Tests: TransportAnswerTests.
        if handle.hasFailed || code == CURLE_WRITE_ERROR || code == CURLE_OUT_OF_MEMORY {
            finish(handle, result(of: handle, code))
        }
    }
}
