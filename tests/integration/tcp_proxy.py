"""A TCP proxy of one server for tests: connections that are cut, slow, half closed, or silent."""
import socket
import struct
import threading
import time

CHUNK = 65536


class TcpProxy:
    """Listens on `port` and connects each connection to 127.0.0.1:`target`. What is set below counts from then on, for all connections."""

    def __init__(self, port, target):
        self.target, self.lock, self.pairs, self.all = target, threading.Lock(), [], []
        self.delay_s = 0          # of each chunk, in both directions
        self.every_bytes = 0      # after so many forwarded bytes, again and again, `trouble` happens to all connections that are open
        self.trouble = None       # cut, half_close or silence of this class
        self.troubles_left = 0
        self.forwarded, self.troubles = 0, 0
        self.listener = socket.create_server(("127.0.0.1", port))
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    def make_trouble(self, trouble, every_bytes, times):
        self.trouble, self.every_bytes, self.troubles_left = trouble, every_bytes, times

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=10)
            except OSError:  # the server is not there: as if it was asked directly
                self.reset(client)
                continue
            server.settimeout(None)
            pair = {"sockets": (client, server), "silent": False}
            with self.lock:
                self.pairs.append(pair)
                self.all.append(pair)
                for source, sink in ((client, server), (server, client)):
                    self.threads.append(threading.Thread(target=self.forward, args=(pair, source, sink)))
                    self.threads[-1].start()

    def forward(self, pair, source, sink):
        try:
            while data := source.recv(CHUNK):
                if self.delay_s:
                    time.sleep(self.delay_s)  # the slow network that is tested
                if not pair["silent"]:
                    sink.sendall(data)
                    self.count(len(data))
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def count(self, size):
        with self.lock:
            before, self.forwarded = self.forwarded, self.forwarded + size
            if not self.every_bytes or not self.troubles_left or before // self.every_bytes == self.forwarded // self.every_bytes:
                return
            self.troubles_left -= 1
            self.troubles += 1
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            self.trouble(self, pair)

    def cut(self, pair):
        for end in pair["sockets"]:
            self.reset(end)

    def half_close(self, pair):
        """The server reads an end; its answers, and whatever the client sends, are lost."""
        pair["silent"] = True
        try:
            pair["sockets"][1].shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def silence(self, pair):
        """Both ends still have their connection; nothing arrives."""
        pair["silent"] = True

    @staticmethod
    def reset(end):
        try:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.threads[0].join(30)
        for pair in self.all:
            self.cut(pair)
        for thread in self.threads:
            thread.join(30)
