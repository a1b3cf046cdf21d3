self.global = "set";
