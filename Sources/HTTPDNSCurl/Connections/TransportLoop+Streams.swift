internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

// Transfers that share connections: given to libcurl now, or later. See ``StreamQueue``.
extension TransportLoop {
    /// Gives a prepared handle to libcurl, now or when one of its pin's connections has room.
    /// - Parameter removals: The first lines of its RESOLVE list, which must not wait.
    func add(_ handle: EasyHandle, removals: [String]) -> CURLMcode {
        guard let pin = handle.pin, handle.sharesConnection else { return curl_multi_add_handle(multi, handle.curl) }
        if pin.streams.isEmpty, admission(of: pin) == .several { return give(handle, of: pin) }
        if !removals.isEmpty {
            handle.freeRemovalList()
            handle.setResolveList(removals: [], pin)
            pins.restoreRemovals(removals)
        }
        pin.streams.append(handle)
        if !pin.streams.isListed {
            pin.streams.isListed = true
            crowded.append(pin)
        }
        return CURLM_OK
    }

    private func admission(of pin: Pin) -> StreamQueue.Admission {
        pin.streams.admission(on: pin.connections, maximum: configuration.maximumStreams)
    }

    private func give(_ handle: EasyHandle, of pin: Pin) -> CURLMcode {
        if !handle.isUndecided { pin.streams.began() }
        handle.isUndecided = true
        return curl_multi_add_handle(multi, handle.curl)
    }

    /// Gives waiting transfers to libcurl, as far as there is room. It runs once in each turn, after everything that may have
    /// made room.
    func admitWaiting() {
        var index = 0
        // A failed transfer starts others, which may wait in turn.
        while index < crowded.count {
            let pin = crowded[index]
            if pin.isRetired { leaveRetired(pin) } else { admitWaiting(of: pin) }
            guard pin.streams.isEmpty else {
                index += 1
                continue
            }
            pin.streams.isListed = false
            crowded.swapAt(index, crowded.count - 1)
            crowded.removeLast()
        }
    }

    private func admitWaiting(of pin: Pin) {
        while !pin.streams.isEmpty {
            let admission = admission(of: pin)
            guard admission != .none, let handle = pin.streams.popFirst() else { return }
            handle.dialedAt = now
            deadlineMayBeEarlier(for: handle)
            if admission == .oneOnNewConnection { handle.setConnectsFresh(true) }
            let carried = pin.streams.fullest(of: pin.connections)
            finish(handle, unlessAdded: give(handle, of: pin))
            // If libcurl found room, the next one may follow in this turn.
            guard admission == .one else { continue }
            driver?.act(now: now)
            // libcurl may have ended others on the connection.
            collectFinished()
            guard let connection = handle.connection else { continue }
            if handle.isUndecided { pin.streams.isFull(at: carried) } else { pin.streams.foundRoom(on: connection) }
        }
    }

    /// Moves the waiting transfers of a retired pin to a new pin: its connections serve only the transfers that they carry.
    private func leaveRetired(_ old: Pin) {
        while let handle = old.streams.popFirst() {
            let pin = pins.acquire(old.key, at: now)
            pin.streams.inherit(from: old.streams)
            defer { shut(pins.release(old)) }
            do {
                try handle.move(to: pin, removals: [])
                finish(handle, unlessAdded: add(handle, removals: []))
            } catch {
                finish(handle, .failure(error), isAdded: false)
            }
        }
    }

    private func finish(_ handle: EasyHandle, unlessAdded code: CURLMcode) {
        guard code != CURLM_OK else { return }
        let text = String(cString: curl_multi_strerror(code))
        finish(handle, .failure(failure(.transport, .queue, text, handle)), isAdded: false)
    }
}

extension EasyHandle {
    /// Notes that the request has its connection, or has ended.
    func noteDecided() {
        guard isUndecided, let pin else { return }
        isUndecided = false
        pin.streams.decided()
    }

    /// The start of the connect limit. While the transfer waits for room on a server that responds, or was just connected to,
    /// the limit starts again.
    var connectingSince: Int64 {
        guard waitsForStream, let pin else { return dialedAt }
        return max(dialedAt, pin.heardAt, pin.reachedAt)
    }

    /// Whether the request may use an HTTP/2 connection that others use, or wait for one that is being made (CURLOPT_PIPEWAIT).
    var sharesConnection: Bool {
        guard !connectsFresh, let transfer, !transfer.request.stopsBeforeSending else { return false }
        switch transfer.request.versions.kind {
        case .automatic, .inherited: return transfer.request.url.scheme == .https
        case .http2Only: return transfer.request.url.scheme == .https || !CurlLibrary.limitsClearTextHTTP2
        case .http1Only, .http10Only: return false
        }
    }
}
